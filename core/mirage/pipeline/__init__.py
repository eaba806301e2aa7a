"""From a decorated function to a result: read, trace, search, plan, emit, verify, profile. The one path through the rooms."""
