"""What is typed into forms."""

from django import forms


class DecimalInput(forms.TextInput):
    """For amounts and shares: digits on a phone's keyboard. A browser's own number field warns in its console."""

    def __init__(self) -> None:
        super().__init__(attrs={"inputmode": "decimal", "autocomplete": "off"})
