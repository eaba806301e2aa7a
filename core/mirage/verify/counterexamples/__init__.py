"""From a rejection to numbers that a user can look at."""
