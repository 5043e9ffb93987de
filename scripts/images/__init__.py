"""The official images: their matrix, their builds, their locks and their bills of materials."""
