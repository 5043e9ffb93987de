"""Figures of the GPU catalogue, one line per model; read by `marketplace.gpu_catalogue.catalogue`.

Some models have a note. S: the project's source documents (rental guides). D: vendors' data sheets and architecture
papers, dense rates; a sheet that gives only the sparse tensor rate is halved, and a GeForce's FP32 is 2 x CUDA cores
x boost clock. What differs between boards of one name, or is not known for sure, is left out.
"""

from typing import Final

from django.utils.translation import gettext_lazy as _

# VRAM and bandwidth: one figure for each size that the model was built with. W: of the largest form. The source is
# that of the FP32 and FP16 rates and of the CUDA version; compute capability, bandwidth, W and NVLink are from data
# sheets.
# Model | series | architecture | compute | VRAM GB | GB/s | FP32 | FP16 (~ about) | needs CUDA | W | NVLink GB/s | source
RATED: Final = """
TITAN Xp         | GeForce    | Pascal    | 6.1  | 12    | 548       | 12.15 | 12.15 | 8    | 250  | –     | S
GTX 1080 Ti      | GeForce    | Pascal    | 6.1  | 11    | 484       | 11.34 | 11.34 | 8    | 250  | –     | S
RTX 2080 Ti      | GeForce    | Turing    | 7.5  | 11    | 616       | 13.45 | 53.8  | 10   | 250  | 100   | S
V100             | Tesla      | Volta     | 7.0  | 16/32 | 900/900   | 15.7  | 125   | 9    | 300  | 300   | S
RTX 3060         | GeForce    | Ampere    | 8.6  | 12    | 360       | 12.74 | ~24   | 11   | 170  | –     | S
RTX A4000        | NVIDIA RTX | Ampere    | 8.6  | 16    | 448       | 19.17 | ~76   | 11   | 140  | –     | S
RTX 3080 Ti      | GeForce    | Ampere    | 8.6  | 12    | 912       | 34.10 | ~70   | 11   | 350  | –     | S
RTX A5000        | NVIDIA RTX | Ampere    | 8.6  | 24    | 768       | 27.77 | ~117  | 11   | 230  | 112.5 | S
RTX 3090         | GeForce    | Ampere    | 8.6  | 24    | 936       | 35.58 | ~71   | 11   | 350  | 112.5 | S
A40              | Tesla      | Ampere    | 8.6  | 48    | 696       | 37.42 | 149.7 | 11   | 300  | 112.5 | S
A100             | Tesla      | Ampere    | 8.0  | 40/80 | 1555/2039 | 19.5  | 312   | 11   | 400  | 600   | S
RTX 4090         | GeForce    | Ada       | 8.9  | 24    | 1008      | 82.6  | 165   | 11.8 | 450  | –     | D
RTX 5090         | GeForce    | Blackwell | 12.0 | 32    | 1792      | 104.8 | 210   | 12.8 | 575  | –     | D
L4               | Tesla      | Ada       | 8.9  | 24    | 300       | 30.3  | 121   | 11.8 | 72   | –     | D
L40S             | Tesla      | Ada       | 8.9  | 48    | 864       | 91.6  | 362   | 11.8 | 350  | –     | D
T4               | Tesla      | Turing    | 7.5  | 16    | 320       | 8.1   | 65    | 10   | 70   | –     | D
A10              | Tesla      | Ampere    | 8.6  | 24    | 600       | 31.2  | 125   | 11   | 150  | –     | D
A30              | Tesla      | Ampere    | 8.0  | 24    | 933       | 10.3  | 165   | 11   | 165  | 200   | D
RTX A6000        | NVIDIA RTX | Ampere    | 8.6  | 48    | 768       | 38.7  | 155   | 11   | 300  | 112.5 | D
P100             | Tesla      | Pascal    | 6.0  | 16    | 732       | 9.3   | 18.7  | 8    | 300  | 160   | D
P40              | Tesla      | Pascal    | 6.1  | 24    | 346       | 11.8  | –     | 8    | 250  | –     | D
H100 SXM         | Tesla      | Hopper    | 9.0  | 80    | 3350      | 67    | 989   | 11.8 | 700  | 900   | D
H100 PCIe        | Tesla      | Hopper    | 9.0  | 80    | 2000      | 51    | 756   | 11.8 | 350  | 600   | D
H200             | Tesla      | Hopper    | 9.0  | 141   | 4800      | 67    | 989   | 11.8 | 700  | 900   | D
B200             | Tesla      | Blackwell | 10.0 | 192   | 8000      | 75    | 2250  | 12.8 | 1000 | 1800  | D
"""

# Named by the source documents without figures; the figures are from data sheets.
NAMED: Final = """
Quadro RTX 3000  | Quadro     | Turing    | 7.5  | 6     | –         | –     | –     | 10   | –    | –     | D
Quadro RTX 4000  | Quadro     | Turing    | 7.5  | 8     | 416       | 7.1   | 57    | 10   | 160  | –     | D
Quadro RTX 5000  | Quadro     | Turing    | 7.5  | 16    | 448       | 11.2  | 89.2  | 10   | 265  | 50    | D
Quadro RTX 6000  | Quadro     | Turing    | 7.5  | 24    | 672       | 16.3  | 130.5 | 10   | 295  | 100   | D
Quadro RTX 8000  | Quadro     | Turing    | 7.5  | 48    | 672       | 16.3  | 130.5 | 10   | 295  | 100   | D
RTX A2000        | NVIDIA RTX | Ampere    | 8.6  | 6/12  | 288/288   | 8.0   | 31.9  | 11   | 70   | –     | D
RTX A4500        | NVIDIA RTX | Ampere    | 8.6  | 20    | 640       | 23.7  | 94.6  | 11   | 200  | 112.5 | D
GTX 1050         | GeForce    | Pascal    | 6.1  | 2     | 112       | 1.86  | –     | 8    | 75   | –     | D
GTX 1050 Ti      | GeForce    | Pascal    | 6.1  | 4     | 112       | 2.14  | –     | 8    | 75   | –     | D
GTX 1060         | GeForce    | Pascal    | 6.1  | 3/6   | 192/192   | –     | –     | 8    | 120  | –     | D
GTX 1070         | GeForce    | Pascal    | 6.1  | 8     | 256       | 6.46  | –     | 8    | 150  | –     | D
GTX 1070 Ti      | GeForce    | Pascal    | 6.1  | 8     | 256       | 8.19  | –     | 8    | 180  | –     | D
GTX 1080         | GeForce    | Pascal    | 6.1  | 8     | 320       | 8.87  | –     | 8    | 180  | –     | D
GTX 1650         | GeForce    | Turing    | 7.5  | 4     | –         | 2.98  | –     | 10   | 75   | –     | D
GTX 1650 Super   | GeForce    | Turing    | 7.5  | 4     | 192       | 4.42  | –     | 10   | 100  | –     | D
GTX 1660         | GeForce    | Turing    | 7.5  | 6     | 192       | 5.03  | –     | 10   | 120  | –     | D
GTX 1660 Super   | GeForce    | Turing    | 7.5  | 6     | 336       | 5.03  | –     | 10   | 125  | –     | D
GTX 1660 Ti      | GeForce    | Turing    | 7.5  | 6     | 288       | 5.44  | –     | 10   | 120  | –     | D
RTX 2060         | GeForce    | Turing    | 7.5  | 6     | 336       | 6.45  | –     | 10   | 160  | –     | D
RTX 2060 Super   | GeForce    | Turing    | 7.5  | 8     | 448       | 7.18  | –     | 10   | 175  | –     | D
RTX 2070         | GeForce    | Turing    | 7.5  | 8     | 448       | 7.46  | 29.9  | 10   | 175  | –     | D
RTX 2070 Super   | GeForce    | Turing    | 7.5  | 8     | 448       | 9.06  | –     | 10   | 215  | 50    | D
RTX 2080         | GeForce    | Turing    | 7.5  | 8     | 448       | 10.07 | 40.3  | 10   | 215  | 50    | D
RTX 2080 Super   | GeForce    | Turing    | 7.5  | 8     | 496       | 11.15 | –     | 10   | 250  | 50    | D
RTX 3050         | GeForce    | Ampere    | 8.6  | 6/8   | 168/224   | –     | –     | 11   | 130  | –     | D
RTX 3060 Ti      | GeForce    | Ampere    | 8.6  | 8     | 448       | 16.2  | –     | 11   | 200  | –     | D
RTX 3070         | GeForce    | Ampere    | 8.6  | 8     | 448       | 20.31 | 40.6  | 11   | 220  | –     | D
RTX 3070 Ti      | GeForce    | Ampere    | 8.6  | 8     | 608       | 21.75 | –     | 11   | 290  | –     | D
RTX 3080         | GeForce    | Ampere    | 8.6  | 10/12 | 760/912   | 29.77 | 59.5  | 11   | 350  | –     | D
RTX 3090 Ti      | GeForce    | Ampere    | 8.6  | 24    | 1008      | 40.0  | –     | 11   | 450  | 112.5 | D
A16              | Tesla      | Ampere    | 8.6  | 16    | 200       | 4.5   | 17.9  | 11   | –    | –     | D
P4               | Tesla      | Pascal    | 6.1  | 8     | 192       | 5.5   | –     | 8    | 75   | –     | D
P6               | Tesla      | Pascal    | 6.1  | 16    | 192       | 6.2   | –     | 8    | 90   | –     | D
K8               | Tesla      | Kepler    | 3.0  | 8     | –         | –     | –     | 5    | –    | –     | D
K10              | Tesla      | Kepler    | 3.0  | 4     | 160       | 2.29  | –     | 5    | –    | –     | D
K20c             | Tesla      | Kepler    | 3.5  | 5     | 208       | 3.52  | –     | 5    | 225  | –     | D
K20s             | Tesla      | Kepler    | 3.5  | 5     | 208       | 3.52  | –     | 5    | 225  | –     | D
K20m             | Tesla      | Kepler    | 3.5  | 5     | 208       | 3.52  | –     | 5    | 225  | –     | D
K20Xm            | Tesla      | Kepler    | 3.5  | 6     | 250       | 3.95  | –     | 5    | 235  | –     | D
K40t             | Tesla      | Kepler    | 3.5  | 12    | 288       | 4.29  | –     | 5    | 235  | –     | D
K40st            | Tesla      | Kepler    | 3.5  | 12    | 288       | 4.29  | –     | 5    | 235  | –     | D
K40s             | Tesla      | Kepler    | 3.5  | 12    | 288       | 4.29  | –     | 5    | 235  | –     | D
K40m             | Tesla      | Kepler    | 3.5  | 12    | 288       | 4.29  | –     | 5    | 235  | –     | D
K40c             | Tesla      | Kepler    | 3.5  | 12    | 288       | 4.29  | –     | 5    | 235  | –     | D
K520             | Tesla      | Kepler    | 3.0  | 4     | 160       | –     | –     | 5    | –    | –     | D
K80              | Tesla      | Kepler    | 3.7  | 12    | 240       | –     | –     | 6.5  | –    | –     | D
"""

# Not from NVIDIA: slug, name, series, architecture, vendor, whether it trains. Our source gives no rates for them.
OTHER_VENDORS: Final = (
    ("mlu-200", "MLU 200 series", "MLU", "Cambricon", "Cambricon", False),
    ("ascend-910", "Ascend 910", "Ascend", "Da Vinci", "Huawei", True),
)

# What a renter should know before choosing it.
NOTES: Final = {
    "titan-xp": _("Old, no tensor cores; good enough for learning."),
    "gtx-1080-ti": _("Old, no tensor cores; 11 GB is quickly too little."),
    "rtx-2080-ti": _("A low-cost entry to mixed precision."),
    "v100": _("A previous flagship with tensor cores that are still fast; no BF16. The PCIe card draws 250 W."),
    "rtx-3060": _("For beginners whose model needs slightly more than 11 GB."),
    "rtx-a4000": _("A balanced single-slot card."),
    "rtx-3080-ti": _("Fast where 12 GB is enough."),
    "rtx-a5000": _("24 GB with fast tensor cores at 230 W."),
    "rtx-3090": _("The most memory for the money among older cards; suits most workloads."),
    "a40": _("Like a 3090 with twice the memory."),
    "a100": _("Scales well across GPUs with NVLink. The PCIe card draws 250–300 W and has slightly slower memory."),
    "l4": _("Small, efficient, built for inference."),
    "t4": _("Small, efficient, built for inference; slow for training."),
    "p40": _("FP16 is far slower than FP32 on this GPU: use FP32 or INT8."),
    "p100": _("No tensor cores. The PCIe card draws 250 W and has no NVLink."),
    "h100-sxm": _("For training large models; GPUs exchange 900 GB/s over NVLink."),
    "h100-pcie": _("Slower and cheaper than SXM; NVLink connects only pairs."),
    "h200": _("An H100 with 141 GB of faster memory."),
    "a16": _("Four GPUs on one 250 W board; figures are per GPU."),
    "quadro-rtx-3000": _("Laptops only."),
    "k10": _("Two GPUs on one board; figures are per GPU."),
    "k520": _("Two GPUs on one board; figures are per GPU."),
    "k80": _("Two GPUs on one board; figures are per GPU."),
    "mlu-200": _("INT8 inference only, with special builds of the frameworks."),
    "ascend-910": _("Training and inference through MindSpore; doesn't run CUDA programs."),
}
