"""`mirage import FILE`: what stands in a file of graphs that the original saved."""

from __future__ import annotations

import json

import click

from mirage_original import judge_saved, saved_files


@click.command("import")
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def import_(file: str, as_json: bool) -> None:
    """List the graphs of a file that the original Mirage saved; exit code 3 if one of them is not valid.

    The file is a list of graphs (also `mirage_cached_mugraphs_*.json` and `mirage_search_checkpoint.json`), one graph, or a
    checkpoint of May 2024. Nothing of it is believed: `mirage verify PROGRAM --mugraphs FILE` says what is right.
    """
    found = [j.row for j in judge_saved.judged(saved_files.read(file), file, ())]
    structures = sorted({r.structure for r in found if r.valid})
    if as_json:
        data = {"file": file, "graphs": [r.to_dict() for r in found], "structures": structures}
        click.echo(json.dumps(data, indent=1))
    else:
        for r in found:
            click.echo(
                f"graph {r.index}: {', '.join(r.inputs)} -> {', '.join(r.outputs)}"
                if r.kernels
                else f"graph {r.index}:"
            )
            for k in r.kernels:
                click.echo(f"  {k}")
            for n in r.notes:
                click.echo(f"  note: {n}")
            click.echo(f"  valid, structure {r.structure}" if r.valid else f"  {r.code} {r.why}")
        valid = sum(r.valid for r in found)
        click.echo(f"{len(found)} graphs, {valid} valid, {len(structures)} structures with sizes erased")
    if not all(r.valid for r in found):
        raise SystemExit(3)
