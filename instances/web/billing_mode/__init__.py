"""Changes of the billing mode over HTTP."""
