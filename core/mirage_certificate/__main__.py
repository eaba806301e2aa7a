"""`python -m mirage_certificate FILE`: replays a certificate."""

from mirage_certificate.certificate import main

raise SystemExit(main())
