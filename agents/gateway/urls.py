"""URLs of the agents, mounted at /agent/v1/."""

from django.urls import path

from agents.gateway import views

agent_urlpatterns = [
    path("enrol", views.enrol, name="agent-enrol"),
    path("sync", views.sync, name="agent-sync"),
    path("reach", views.reach, name="agent-reach"),
    path("speed", views.speed_up, name="agent-speed-up"),
    path("install.sh", views.install_script, name="agent-install"),
    path("release/<str:name>", views.release_file, name="agent-release"),
    path("speed/<int:count>", views.speed_down, name="agent-speed-down"),
]
