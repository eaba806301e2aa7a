"""The operator table: one entry an operator, with everything that the other rooms know of it."""
