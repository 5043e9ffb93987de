"""Simulated demo hosts, with realistic models, regions and prices."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DemoHost:
    """One host; `gpus` in the form of `berth-agent enrol --simulate-gpus`, `price` per GPU and hour."""

    name: str
    region: str
    gpus: str
    price: str


FLEET = (
    DemoHost("fra-01", "de-frankfurt", "RTX 4090:8", "0.46"),
    DemoHost("fra-02", "de-frankfurt", "L40S:4", "0.99"),
    DemoHost("fra-03", "de-frankfurt", "RTX 3090:4", "0.24"),
    DemoHost("hel-01", "fi-helsinki", "RTX A6000:4", "0.52"),
    DemoHost("hel-02", "fi-helsinki", "H100 SXM:8", "2.69"),
    DemoHost("lon-01", "gb-london", "A100:4", "1.39"),
    DemoHost("lon-02", "gb-london", "RTX A5000:6", "0.31"),
    DemoHost("iad-01", "us-virginia", "H100 SXM:8", "2.49"),
    DemoHost("iad-02", "us-virginia", "H200:8", "3.39"),
    DemoHost("iad-03", "us-virginia", "A10:4", "0.36"),
    DemoHost("iad-04", "us-virginia", "T4:8", "0.15"),
    DemoHost("pdx-01", "us-oregon", "RTX 5090:4", "0.79"),
    DemoHost("pdx-02", "us-oregon", "B200:8", "4.99"),
    DemoHost("pdx-03", "us-oregon", "L4:8", "0.42"),
    DemoHost("sin-01", "sg-singapore", "RTX 4090:4", "0.49"),
    DemoHost("sin-02", "sg-singapore", "A40:4", "0.44"),
    DemoHost("tyo-01", "jp-tokyo", "RTX 3080 Ti:4", "0.19"),
    DemoHost("tyo-02", "jp-tokyo", "V100:8", "0.33"),
    DemoHost("hgh-01", "cn-hangzhou", "RTX 4090:8", "0.38"),
    DemoHost("hgh-02", "cn-hangzhou", "RTX 3060:4", "0.11"),
    DemoHost("gzu-01", "cn-guizhou", "A100:8", "0.99"),
)
