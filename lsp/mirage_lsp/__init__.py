"""The language server: answers from its session at once; the daemon, reached through `mirage.link`, does the work."""
