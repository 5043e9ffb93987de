"""A package, so that its journeys share one stage."""
