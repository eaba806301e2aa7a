"""The plots of docs/performance.md, from the committed results: `python benchmarks/plots.py`."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, DOCS = ROOT / "benchmarks" / "results" / "h200-points.json", ROOT / "docs"
STYLE = (
    "<style>text{font:12px sans-serif;fill:#444}.grid{stroke:#ccc}.a{fill:#2a78b8}.b{fill:#e08a2c}.line{stroke:#888}"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}}</style>"
)


def svg(width: int, height: int, body: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
    return "\n".join([head, STYLE, *body, "</svg>", ""])


def label(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def bars(rows: list[tuple[str, float, str]], title: str, marks: list[float]) -> str:
    """Horizontal bars: (name, value, what stands beside it); vertical lines at `marks`."""
    left, width, step = 170, 420, 20
    most = max(max(v for _, v, _ in rows), *marks)
    body = [label(10, 18, title)]
    height = 34 + step * len(rows)
    for m in marks:
        x = left + width * m / most
        body.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="26" y2="{height}"/>')
        body.append(label(x, height + 14, f"{m:g}", "middle"))
    for i, (name, value, beside) in enumerate(rows):
        y = 30 + step * i
        body.append(label(left - 8, y + 13, name, "end"))
        body.append(f'<rect class="a" x="{left}" y="{y}" width="{width * value / most:.1f}" height="14"/>')
        body.append(label(left + width * value / most + 5, y + 12, beside))
    return svg(720, height + 24, body)


def scatter(points: list[tuple[float, float]], title: str) -> str:
    """Measured over estimated µs, both logarithmic, with the line where they are equal."""
    size, left, top = 380, 60, 30
    low, high = 2.0, 512.0

    def place(v: float) -> float:
        return size * math.log(min(max(v, low), high) / low) / math.log(high / low)

    body = [label(10, 18, title)]
    for v in (2, 8, 32, 128, 512):
        x, y = left + place(v), top + size - place(v)
        body.append(f'<line class="grid" x1="{left}" x2="{left + size}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body += [label(left - 6, y + 4, f"{v}", "end"), label(x, top + size + 16, f"{v}", "middle")]
    body.append(f'<line class="line" x1="{left}" y1="{top + size}" x2="{left + size}" y2="{top}"/>')
    for estimated, measured in points:
        x, y = left + place(estimated), top + size - place(measured)
        body.append(f'<circle class="b" cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill-opacity="0.5"/>')
    body.append(label(left + size / 2, top + size + 34, "estimated µs", "middle"))
    return svg(480, top + size + 44, body)


def main() -> None:
    report: dict[str, Any] = json.loads(RESULTS.read_text())
    value = {r["name"]: r["value"] for r in report["rows"]}
    names = [n.partition("/")[2] for n in value if n.startswith("us/")]
    speed = [(n, value[f"speedup/{n}"], f"{value[f'speedup/{n}']:.2f}x") for n in names]
    (DOCS / "performance-speedup.svg").write_text(bars(speed, "Speed-up over the best peer", [1.0, 1.3, 2.0]))
    light = [(n, value[f"sol/{n}"], f"{value[f'sol/{n}']:.0f}%  ({value[f'us/{n}']:.1f} µs)") for n in names]
    (DOCS / "performance-light.svg").write_text(bars(light, "Per cent of the speed of light", [50.0, 70.0, 100.0]))
    own = [(v["us"], v["cold"]) for v in report["variants"] if "cold" in v and v["warps"] == 0 and v["stages"] == 3]
    (DOCS / "performance-model.svg").write_text(
        scatter(own, "Measured µs over estimated µs, every candidate as it came")
    )


if __name__ == "__main__":
    main()
