"""Small public tables with published fits, in rows of their groups."""

import numpy as np
import pandas as pd

# Belenky et al. (2003): reaction times in ms on ten days of sleep deprivation, one line for each subject; lme4.
_SLEEP = """
308 249.56 258.7047 250.8006 321.4398 356.8519 414.6901 382.2038 290.1486 430.5853 466.3535
309 222.7339 205.2658 202.9778 204.707 207.7161 215.9618 213.6303 217.7272 224.2957 237.3142
310 199.0539 194.3322 234.32 232.8416 229.3074 220.4579 235.4208 255.7511 261.0125 247.5153
330 321.5426 300.4002 283.8565 285.133 285.7973 297.5855 280.2396 318.2613 305.3495 354.0487
331 287.6079 285 301.8206 320.1153 316.2773 293.3187 290.075 334.8177 293.7469 371.5811
332 234.8606 242.8118 272.9613 309.7688 317.4629 309.9976 454.1619 346.8311 330.3003 253.8644
333 283.8424 289.555 276.7693 299.8097 297.171 338.1665 332.0265 348.8399 333.36 362.0428
334 265.4731 276.2012 243.3647 254.6723 279.0244 284.1912 305.5248 331.5229 335.7469 377.299
335 241.6083 273.9472 254.4907 270.8021 251.4519 254.6362 245.4523 235.311 235.7541 237.2466
337 312.3666 313.8058 291.6112 346.1222 365.7324 391.8385 404.2601 416.6923 455.8643 458.9167
349 236.1032 230.3167 238.9256 254.922 250.7103 269.7744 281.5648 308.102 336.2806 351.6451
350 256.2968 243.4543 256.2046 255.5271 268.9165 329.7247 379.4445 362.9184 394.4872 389.0527
351 250.5265 300.0576 269.8939 280.5891 271.8274 304.6336 287.7466 266.5955 321.5418 347.5655
352 221.6771 298.1939 326.8785 346.8555 348.7402 352.8287 354.4266 360.4326 375.6406 388.5417
369 271.9235 268.4369 257.2424 277.6566 314.8222 317.2135 298.1353 348.1229 340.28 366.5131
370 225.264 234.5235 238.9008 240.473 267.5373 344.1937 281.1481 347.5855 365.163 372.2288
371 269.8804 272.4428 277.8989 281.7895 279.1705 284.512 259.2658 304.6306 350.7807 369.4692
372 269.4117 273.474 297.5968 310.6316 287.1726 329.6076 334.4818 343.2199 369.1417 364.1236
"""

# Davies & Goldsmith (1972): diameters in mm on 24 plates of samples A to F, one word for each plate, less 18; lme4.
_PENICILLIN = """
958553 958553 737662 857552 748452 647541 625341 848663 636442 636541 858663 748662 868674 858552 857664 747552
736552 746551 635331 858663 736440 747442 636461 636430
"""

# Lesnoff et al. (2004): cases of a lung disease among cattle, herd/period/cases/size; lme4.
_CBPP = """
1/1/2/14 1/2/3/12 1/3/4/9 1/4/0/5 2/1/3/22 2/2/1/18 2/3/1/21 3/1/8/22 3/2/2/16 3/3/0/16 3/4/2/20 4/1/2/10 4/2/0/10
4/3/2/9 4/4/0/6 5/1/5/18 5/2/0/25 5/3/0/24 5/4/1/4 6/1/3/17 6/2/0/17 6/3/0/18 6/4/1/20 7/1/8/16 7/2/1/10 7/3/3/9
7/4/0/5 8/1/12/34 9/1/2/9 9/2/0/6 9/3/0/8 9/4/0/6 10/1/1/22 10/2/1/22 10/3/0/18 10/4/2/22 11/1/0/25 11/2/5/27
11/3/3/22 11/4/1/22 12/1/2/10 12/2/1/8 12/3/0/6 12/4/0/5 13/1/1/21 13/2/2/24 13/3/0/19 13/4/0/23 14/1/11/19 14/2/0/2
14/3/0/3 14/4/0/2 15/1/1/19 15/2/1/15 15/3/1/15 15/4/0/15
"""

# Price et al. (2016): counts of salamanders, one line for each site; m for sites that are mined; glmmTMB.
_SALAMANDERS = """
m 0 0 0 0 0 0 0 0 0 0 2 1 0 1 0 0 0 0 0 0 0 0 2 0 1 0 0 0
m 0 0 2 0 0 1 0 0 0 1 6 3 2 0 0 0 1 1 0 0 3 2 0 2 2 2 0 1
m 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
- 2 1 6 2 4 0 2 1 3 2 3 2 2 0 0 0 1 6 4 13 1 8 7 2 1 0 0 0
- 2 5 5 0 0 0 0 0 4 6 3 3 0 0 2 0 2 2 3 11 4 2 14 0 1 1 1 2
- 1 6 4 0 0 0 4 0 1 4 2 0 2 0 0 0 0 0 1 0 10 8 3 7 0 0 2 1
- 1 0 3 2 0 0 2 1 1 0 0 0 4 1 2 0 8 7 7 36 2 5 7 0 5 7 4 5
- 2 3 3 2 0 0 0 0 6 4 4 1 3 2 0 0 1 1 2 9 3 11 5 12 0 0 0 0
- 4 1 2 7 1 2 0 1 5 4 2 2 4 2 0 0 7 4 2 6 7 6 3 8 7 0 1 4
- 1 0 1 0 0 0 0 0 0 2 4 1 4 2 0 0 3 1 3 11 0 0 0 2 5 2 1 1
m 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 2 2 0 0 0 0 0 0 0 0
- 0 1 0 2 0 3 0 0 0 2 5 4 4 0 0 1 4 5 2 6 2 3 0 2 5 4 3 5
- 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 8 5 9 0 2 5 0 8
- 0 1 3 10 1 0 0 0 1 2 7 5 5 0 0 0 1 0 0 5 2 2 3 3 0 1 0 2
- 0 2 4 3 0 0 0 0 0 2 1 0 4 0 0 0 1 1 1 4 1 3 0 4 1 1 0 1
m 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 1 0
m 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0
- 1 2 7 2 0 0 0 0 13 3 2 1 1 0 1 0 0 0 0 9 0 1 0 3 1 0 2 0
m 0 0 0 0 0 0 0 0 0 0 0 1 1 0 0 0 0 0 0 0 6 4 1 0 0 0 0 0
m 0 0 0 0 0 0 0 0 3 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 1 0 0 1
m 0 0 0 0 0 1 3 0 0 0 0 0 0 0 0 0 1 0 0 0 1 1 2 0 0 3 4 1
m 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
m 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 0 0 0 0 0 0 0 0 3 4
"""

# Silverman (1985): milliseconds after an impact and acceleration of a head in g; MASS.
_MCYCLE = """
2.4/0 2.6/-1.3 3.2/-2.7 3.6/0 4/-2.7 6.2/-2.7 6.6/-2.7 6.8/-1.3 7.8/-2.7 8.2/-2.7 8.8/-1.3 8.8/-2.7 9.6/-2.7 10/-2.7
10.2/-5.4 10.6/-2.7 11/-5.4 11.4/0 13.2/-2.7 13.6/-2.7 13.8/0 14.6/-13.3 14.6/-5.4 14.6/-5.4 14.6/-9.3 14.6/-16
14.6/-22.8 14.8/-2.7 15.4/-22.8 15.4/-32.1 15.4/-53.5 15.4/-54.9 15.6/-40.2 15.6/-21.5 15.8/-21.5 15.8/-50.8
16/-42.9 16/-26.8 16.2/-21.5 16.2/-50.8 16.2/-61.7 16.4/-5.4 16.4/-80.4 16.6/-59 16.8/-71 16.8/-91.1 16.8/-77.7
17.6/-37.5 17.6/-85.6 17.6/-123.1 17.6/-101.9 17.8/-99.1 17.8/-104.4 18.6/-112.5 18.6/-50.8 19.2/-123.1 19.4/-85.6
19.4/-72.3 19.6/-127.2 20.2/-123.1 20.4/-117.9 21.2/-134 21.4/-101.9 21.8/-108.4 22/-123.1 23.2/-123.1 23.4/-128.5
24/-112.5 24.2/-95.1 24.2/-81.8 24.6/-53.5 25/-64.4 25/-57.6 25.4/-72.3 25.4/-44.3 25.6/-26.8 26/-5.4 26.2/-107.1
26.2/-21.5 26.4/-65.6 27/-16 27.2/-45.6 27.2/-24.2 27.2/9.5 27.6/4 28.2/12 28.4/-21.5 28.4/37.5 28.6/46.9 29.4/-17.4
30.2/36.2 31/75 31.2/8.1 32/54.9 32/48.2 32.8/46.9 33.4/16 33.8/45.6 34.4/1.3 34.8/75 35.2/-16 35.2/-54.9 35.4/69.6
35.6/34.8 35.6/32.1 36.2/-37.5 36.2/22.8 38/46.9 38/10.7 39.2/5.4 39.4/-1.3 40/-21.5 40.4/-13.3 41.6/30.8 41.6/-10.7
42.4/29.4 42.8/0 42.8/-10.7 43/14.7 44/-1.3 44.4/0 45/10.7 46.6/10.7 47.8/-26.8 47.8/-14.7 48.8/-13.3 50.6/0 52/10.7
53.2/-14.7 55/-2.7 55/10.7 55.4/-2.7 57.6/10.7
"""

# Madsen (1976): satisfaction (low, medium, high) with housing, counts by influence, type and contact; MASS.
_HOUSING = """
21 21 28 34 22 36 10 11 36 61 23 17 43 35 40 26 18 54 13 9 10 8 8 12 6 7 9 18 6 7 15 13 13 7 5 11 14 19 37 17 23 40
3 5 23 78 46 43 48 45 86 15 25 62 20 23 20 10 22 24 7 10 21 57 23 13 31 21 13 5 6 13
"""

# Baxter, Coutts & Ross (1980): policy holders/claims by district, group of cars and age; MASS.
_INSURANCE = """
197/38 264/35 246/20 1680/156 284/63 536/84 696/89 3582/400 133/19 286/52 355/74 1640/233 24/4 71/18 99/19 452/77
85/22 139/19 151/22 931/87 149/25 313/51 419/49 2443/290 66/14 175/46 221/39 1110/143 9/4 48/15 72/12 322/53 35/5
73/11 89/10 648/67 53/10 155/24 240/37 1635/187 24/8 78/19 121/24 692/101 7/3 29/2 43/8 245/37 20/2 33/5 40/4 316/36
31/7 81/10 122/22 724/102 18/5 39/7 68/16 344/63 3/0 16/6 25/8 114/33
"""

# Aitkin (1978): days absent from school by ethnicity (A, N), sex (F, M), age (0 to 3) and learner (A, S); MASS.
_QUINE = """
AF0A 5 11 24 45
AF0S 3
AF1A 5 5 11 17 19
AF1S 5 6 6 9 13 23 25 32 53 54
AF2A 2
AF2S 8 13 14 20 47 48 60 81
AF3A 0 2 3 5 10 14 21 36 40
AM0A 5 5 13 20 22
AM0S 2 11 14
AM1A 7 14
AM1S 6 6 15
AM2A 14 16 16 17 40 43 46
AM2S 6 32 53 57
AM3A 8 23 23 28 34 36 38
NF0A 10 11 20 33
NF0S 25
NF1A 5 14 6 6 7 28
NF1S 5 7 0 1 5 5 5 5 7 11 15
NF2A 1
NF2S 0 5 14 2 2 3 8 10 12
NF3A 1 9 22 3 3 5 15 18 22 37
NM0A 0 0 2 7 11 12
NM0S 6 17 67
NM1A 3 4
NM1S 0 0 5 5 5 11 17
NM2A 8 0 1 5 7 16 27
NM2S 22 30 36
NM3A 0 30 10 14 27 41 69
"""


def sleepstudy() -> pd.DataFrame:
    lines = [line.split() for line in _SLEEP.split("\n") if line]
    return pd.DataFrame({
        "subject": np.repeat([line[0] for line in lines], 10),
        "days": np.tile(np.arange(10.0), len(lines)),
        "reaction": np.concatenate([np.array(line[1:], dtype=float) for line in lines]),
    })  # fmt: skip


def penicillin() -> pd.DataFrame:
    plates = _PENICILLIN.split()
    return pd.DataFrame({
        "plate": np.repeat([f"{i:02d}" for i in range(len(plates))], 6),
        "sample": np.tile(list("ABCDEF"), len(plates)),
        "diameter": [18.0 + int(digit, 16) for plate in plates for digit in plate],
    })  # fmt: skip


def cbpp() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Herds and periods, whether a case, and how many animals: one row for the cases and one for the others."""
    cells = np.array([cell.split("/") for cell in _CBPP.split()])
    cases, size = cells[:, 2].astype(float), cells[:, 3].astype(float)
    frame = pd.DataFrame({"herd": np.tile(cells[:, 0], 2), "period": np.tile(cells[:, 1], 2)})
    return frame, np.repeat([1, 0], len(cells)), np.concatenate([cases, size - cases])


def salamanders() -> pd.DataFrame:
    lines = [line.split() for line in _SALAMANDERS.split("\n") if line]
    return pd.DataFrame({
        "site": np.repeat([f"{i:02d}" for i in range(len(lines))], 28),
        "mined": np.repeat([line[0] for line in lines], 28),
        "count": [float(count) for line in lines for count in line[1:]],
    })  # fmt: skip


def mcycle() -> pd.DataFrame:
    cells = np.array([cell.split("/") for cell in _MCYCLE.split()], dtype=float)
    return pd.DataFrame({"times": cells[:, 0], "accel": cells[:, 1]})


def housing() -> pd.DataFrame:
    levels = [["low", "high"], ["tower", "apartment", "atrium", "terrace"], ["low", "medium", "high"]]
    cells = pd.MultiIndex.from_product([*levels, ["low", "medium", "high"]]).to_frame(index=False)
    cells.columns = ["contact", "type", "influence", "satisfaction"]
    for name, order in zip(cells.columns, [*levels, levels[2]], strict=True):
        cells[name] = pd.Categorical(cells[name], order)
    return cells.assign(frequency=[float(count) for count in _HOUSING.split()])


def insurance() -> pd.DataFrame:
    levels = [list("1234"), ["<1l", "1-1.5l", "1.5-2l", ">2l"], ["<25", "25-29", "30-35", ">35"]]
    cells = pd.MultiIndex.from_product(levels).to_frame(index=False)
    cells.columns = ["district", "group", "age"]
    for name, order in zip(cells.columns, levels, strict=True):
        cells[name] = pd.Categorical(cells[name], order)
    counts = np.array([cell.split("/") for cell in _INSURANCE.split()], dtype=float)
    return cells.assign(holders=counts[:, 0], claims=counts[:, 1])


def quine() -> pd.DataFrame:
    found = []
    for line in _QUINE.split("\n"):
        for days in line.split()[1:]:
            found.append((*line.split()[0], float(days)))
    return pd.DataFrame(found, columns=["ethnicity", "sex", "age", "learner", "days"])


# Edmonson et al. (1979): days to death or the last visit of 26 women, days/died/group/performance; survival.
_OVARIAN = """
59/1/1/1 115/1/1/1 156/1/1/2 421/0/2/1 431/1/1/1 448/0/1/2 464/1/2/2 475/1/2/2 477/0/1/1 563/1/2/2 638/1/1/2 744/0/2/1
769/0/2/2 770/0/2/1 803/0/1/1 855/0/1/2 1040/0/1/2 1106/0/1/1 1129/0/2/1 1206/0/2/1 1227/0/2/2 268/1/1/2 329/1/1/1
353/1/2/2 365/1/2/1 377/0/2/1
"""


def ovarian() -> pd.DataFrame:
    cells = np.array([cell.split("/") for cell in _OVARIAN.split()], dtype=float)
    return pd.DataFrame(cells, columns=["futime", "fustat", "rx", "ecog"])
