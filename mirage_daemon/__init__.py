"""The background daemon: jobs, cache and watched projects, served to clients over a unix socket."""
