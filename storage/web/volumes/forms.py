"""Forms of the image pages."""

from django import forms
from django.utils.translation import gettext_lazy as _

from common.http.fields import NameField


class ImageForm(forms.Form):
    name = NameField(
        label=_("Name"),
        max_length=255,
        help_text=_("As in docker pull, such as pytorch/pytorch:2.4.0 or registry.example.com/team/image:tag"),
        widget=forms.TextInput(attrs={"autocapitalize": "off", "spellcheck": "false", "autocomplete": "off"}),
    )
    title = NameField(label=_("Title"), max_length=120, required=False, help_text=_("Leave blank to use the image name."))


class RegistryForm(forms.Form):
    host = forms.CharField(
        label=_("Registry"),
        max_length=200,
        help_text=_("For example, registry.example.com, or docker.io for Docker Hub"),
        widget=forms.TextInput(attrs={"autocapitalize": "off", "spellcheck": "false", "autocomplete": "off"}),
    )
    username = forms.CharField(
        label=_("Username"), max_length=200, widget=forms.TextInput(attrs={"autocapitalize": "off", "autocomplete": "off"})
    )
    password = forms.CharField(
        label=_("Password or access token"),
        max_length=4000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Tested immediately, stored encrypted, and shared only with the host that loads the image."),
    )


class ShareForm(forms.Form):
    name = forms.SlugField(label=_("Name"), max_length=60)
    title = NameField(label=_("Title"), max_length=120, required=False)
    description = NameField(label=_("Description"), max_length=1000, required=False)
