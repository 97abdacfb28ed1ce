"""The corpus of tables of results: cases that were misread once, and public tables by their header.

Of a public table its header and three rows are facts; no file of it is here.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import Row, hints

from anynet_study.core.errors import UserError

#: Keeps a property of a test for the summary of a run.
Record = Callable[[str, object], None]


def csv(header: str, *rows: str) -> dict[str, str]:
    return {"t.csv": "\n".join([header, *rows]) + "\n"}


def accuracies(names: str, models: int = 8, low: float = 55.0, seed: int = 0) -> list[str]:
    """Rows of models whose accuracies on these datasets rise together."""
    draw = random.Random(seed)
    count = len(names.split(","))
    levels = [low + draw.uniform(0, 30) for _ in range(count)]
    return [
        f"net{n},"
        + ",".join(f"{level + n * 0.9 + draw.uniform(-0.8, 0.8):.1f}" for level in levels)
        for n in range(models)
    ]


VTAB = (
    "Caltech101,CIFAR-100,DTD,Flowers102,Pets,SVHN,Sun397,Patch Camelyon,EuroSAT,Resisc45,"
    "Retinopathy,Clevr-Count,Clevr-Dist,DMLab,KITTI-Dist,dSpr-Loc,dSpr-Ori,sNORB-Azim,sNORB-Elev"
)
ORDER = random.Random(0).sample(range(200), 200)
TRUTH = [random.Random(n).randrange(5) for n in range(200)]
GUESSES = [(t + (n % 9 == 0)) % 5 for n, t in enumerate(TRUTH)]
PREDICTIONS = "import --predictions val=p.csv --labels val=l.csv {} -o o.h5"
LABELS = "image,label\n" + "".join(f"i{n:03d}.jpg,{t}\n" for n, t in enumerate(TRUTH))
COMPARED = {
    "a.csv": "model,cifar10\n" + "".join(f"m{n},{60 + n}.{n}\n" for n in range(9)),
    "e.csv": "model,cifar10\n" + "".join(f"m{n},{39 - n}.{n}\n" for n in range(9)),
}
TIMM = "model,img_size,top1,top1_err,top5,top5_err,param_count,crop_pct,interpolation"
TIMM_ROWS = (
    'eva02_giant,448,90.054,9.946,99.056,0.944,"1,013.01",1.000,bicubic',
    "vit_base,224,85.100,14.900,97.300,2.700,86.57,0.900,bicubic",
    "resnet50,224,80.376,19.624,94.616,5.384,25.56,0.950,bilinear",
)
#: What was misread or refused once, by the number of its case.
CASES = (
    Row(
        "01 predictions and labels in other orders",
        {
            "l.csv": LABELS,
            "p.csv": "image,net\n" + "".join(f"i{n:03d}.jpg,{GUESSES[n]}\n" for n in ORDER),
        },
        says=["median error in percent: val 11.5"],
        command=PREDICTIONS,
    ),
    Row(
        "01 images of other names",
        {"l.csv": LABELS, "p.csv": "image,net\n" + "".join(f"x{n},1\n" for n in range(200))},
        asks=["i000.jpg", "joined by the names"],
        command=PREDICTIONS,
    ),
    Row(
        "02 y_true beside models",
        {
            "l.csv": LABELS,
            "p.csv": "image,y_true,net\n"
            + "".join(f"i{n:03d}.jpg,{t},{GUESSES[n]}\n" for n, t in enumerate(TRUTH)),
        },
        says=["1 model x 1 dataset"],
        command=PREDICTIONS,
    ),
    Row(
        "02 fold beside models",
        {
            "l.csv": LABELS,
            "p.csv": "image,fold,net\n" + "".join(f"i{n:03d}.jpg,1,1\n" for n in range(200)),
        },
        asks=["fold", "no model"],
        command=PREDICTIONS,
    ),
    Row(
        "03 datasets in rows",
        csv(
            ",resnet18,resnet50,vgg16",
            *("cifar10,93.1,94.3,92.0", "cifar100,71.1,75.2,70.0", "svhn,96.1,96.6,95.8"),
        ),
        "--accuracy",
        asks=["rows are called as datasets", "--transpose"],
    ),
    Row(
        "04 settings of a sweep beside accuracies",
        csv(
            "Name,State,lr,wd,mixup,smoothing,alpha,temperature,test/acc",
            *(
                f"run-{n},finished,{0.1 / (n + 1):.4f},{0.0005 * (n + 1)},{n / 10},{n / 20},"
                f"{0.1 + 0.15 * n:.2f},{0.07 + n / 10:.2f},{0.84 + 0.012 * n:.3f}"
                for n in range(6)
            ),
        ),
        "--accuracy --fraction",
        says=["datasets: 1, median error in percent: test/acc 13"],
    ),
    Row(
        "04 settings that no list knows, beside accuracies",
        csv(
            "Name,zeta,kappa_2,val_top1_acc",
            *(f"run{n},{n / 10},{0.05 * n:.2f},{0.84 + 0.012 * n:.3f}" for n in range(6)),
        ),
        "--fraction",
        asks=["zeta", "kappa_2"],
    ),
    Row(
        "05 runs in columns",
        csv(
            "Model,Mean (%),Std (%),Run 1 (%),Run 2 (%),Run 3 (%)",
            *(f"n{k},{90 + k}.3,0.4,{90 + k}.1,{90 + k}.6,{90 + k}.2" for k in range(5)),
        ),
        "--accuracy",
        asks=["Run 1 (%)", "one dataset"],
    ),
    Row(
        "05 seeds of two datasets in columns",
        csv(
            "Model,cars_seed0,cars_seed1,dtd_seed0,dtd_seed1",
            *(f"n{k},{90 + k}.3,{91 + k}.4,{60 + k}.1,{61 + k}.6" for k in range(5)),
        ),
        "--map 'accuracy=*_seed#'",
        says=["datasets: 2", "replicate"],
    ),
    Row(
        "06 train, val and test accuracy",
        csv(
            "model,train_acc,val_acc,test_acc",
            *(f"n{k},{99 - k / 10},{93 - k * 0.7:.1f},{92 - k * 0.6:.1f}" for k in range(6)),
        ),
        asks=["train_acc", "one dataset"],
    ),
    Row(
        "07 chance and human",
        csv(
            "model,cifar10,svhn,dtd",
            *accuracies("cifar10,svhn,dtd", 6),
            "Chance,10,10,2.1",
            "Human,93.9,98,70.2",
        ),
        "--accuracy",
        asks=["'Chance'", "'Human'", "--ignore-rows"],
    ),
    Row(
        "07 a note below the table",
        csv("model,cifar10,svhn", *accuracies("cifar10,svhn", 6), "* trained with more data,,"),
        "--accuracy",
        asks=["* trained with more data"],
    ),
    Row(
        "08 names of datasets that differ in case",
        csv(
            "model,dataset,accuracy",
            "a,CIFAR10,90.0",
            "a,SVHN,94.0",
            "b,cifar10,91.2",
            "b,svhn,95.1",
            "c,Cifar-10,92.4",
            "c,svhn,95.9",
        ),
        says=["datasets: 2", "note: CIFAR10, cifar10, Cifar-10; SVHN, svhn: one dataset"],
    ),
    Row(
        "09 accuracies and errors compared",
        COMPARED,
        asks=["--read a=accuracy"],
        command="compare a=a.csv b=e.csv --dataset cifar10 {}",
    ),
    Row(
        "09 accuracies and errors compared, one turned wrongly",
        COMPARED,
        "--accuracy",
        says=["the other way round"],
        command="compare a=a.csv b=e.csv --dataset cifar10 {} --json",
    ),
    Row(
        "09 accuracies and errors compared, each as it is",
        COMPARED,
        "--read a=accuracy --read b=error",
        lacks=["the other way round"],
        command="compare a=a.csv b=e.csv --dataset cifar10 {} --json",
    ),
    Row(
        "10 tensors in cells",
        csv(
            "model,cifar10,svhn",
            *(f"n{k},\"tensor(0.8{k}00, device='cuda:0')\",0.90{k}" for k in range(5)),
        ),
        "--accuracy --fraction",
        says=["datasets: 2, median error in percent: cifar10 18, svhn 9.8"],
    ),
    Row(
        "11 a row for each epoch",
        csv(
            "model,epoch,step,val_acc",
            *(f"n{k},{e},{100 * e},{50 + 10 * e + k}" for k in range(4) for e in range(4)),
        ),
        "--ignore step",
        asks=["each epoch", "--last epoch"],
    ),
    Row(
        "12 a long table with several measures",
        csv(
            "acc1,acc5,mean_per_class_recall,dataset,model,pretrained,task",
            *(
                f"0.{50 + d},0.{80 + d},0.{49 + d},ds{d},net{k},a,zeroshot"
                for k in range(3)
                for d in range(4)
            ),
        ),
        "--map accuracy=acc1,model=model+pretrained --fraction",
        says=[
            "datasets: 4",
            "left out, as they differ",
            "acc5, mean_per_class_recall",
            "task",
        ],
    ),
    Row(
        "13 a date beside the models",
        {
            "t.json": '{"R-0": {"top1_err": 30.1, "top5_err": 10.2}, "R-1": {"top1_err": 29.0, '
            '"top5_err": 9.5}, "R-2": {"top1_err": 28.4, "top5_err": 9.0}, "date-created": "2020"}'
        },
        says=["models: 3", "note: date-created: left out", "two measures on the same images"],
        command="import t.json {} --dry-run",
    ),
    Row(
        "14 thousands and units",
        csv(
            "model,params,flops,cifar10,svhn",
            *(f'net{k},"1{k},689,512",{k + 1}.8G,{90 + k},{95 + k / 2}' for k in range(5)),
        ),
        "--accuracy",
        says=["datasets: 2, median", "columns that describe models: params, flops"],
    ),
    Row(
        "36 an index beside the names",
        csv(
            ",Backbone,cifar10,svhn",
            "3,resnet18,90.0,94.0",
            "0,resnet50,90.7,94.4",
            "4,vgg16,91.4,94.8",
        ),
        "--accuracy",
        says=["models: 3 from column 'Backbone'", "datasets: 2"],
    ),
    Row(
        "37 a tidy table",
        csv(
            "model,dataset,metric,value",
            *(
                f"n{k},{d},{m},{v + k / 10}"
                for k in range(3)
                for d in ("c10", "svhn")
                for m, v in (("accuracy", 90.0), ("loss", 0.3))
            ),
        ),
        says=["datasets: 2", "note: rows of the metric accuracy; left out: loss"],
    ),
    Row(
        "37 a tidy table of two of our metrics",
        csv(
            "model,dataset,metric,value",
            *(
                f"n{k},{d},{m},{v + k}"
                for k in range(3)
                for d in ("c10", "svhn")
                for m, v in (("top1", 80.0), ("top5", 90.0))
            ),
        ),
        "--accuracy",
        asks=["top1, top5", "--metric"],
    ),
    Row(
        "43 a harmonic mean",
        csv(
            "Method,Base,New,H",
            "m0,69.30,74.20,71.67",
            "m1,82.70,63.20,71.65",
            "m2,80.50,71.70,75.85",
            "m3,81.40,73.10,77.03",
        ),
        "--accuracy",
        says=["datasets: 2", "note: H is no dataset: the harmonic mean"],
    ),
    Row(
        "44 arrows that say lower is better",
        csv(
            "model,CIFAR-10 ↑,SVHN ↑,CIFAR-100 ↓",
            *(f"n{k},{90 + 0.7 * k:.1f},{94 + 0.4 * k:.1f},{32 - 1.1 * k:.1f}" for k in range(6)),
        ),
        "--accuracy",
        asks=["CIFAR-100 ↓"],
    ),
    Row(
        "44 arrows alone say it of each column",
        csv(
            "model,CIFAR-10 ↑,SVHN ↑,CIFAR-100 ↓",
            *(f"n{k},{90 + 0.7 * k:.1f},{94 + 0.4 * k:.1f},{32 - 1.1 * k:.1f}" for k in range(4)),
        ),
        says=["CIFAR-10 ↑ 8.95", "CIFAR-100 ↓ 30.35", "note: errors, as their names say"],
    ),
    Row("48 VTAB", csv(f"Method,{VTAB}", *accuracies(VTAB)), "--accuracy", says=["datasets: 19"]),
    Row(
        "48 datasets called like descriptions",
        csv("model,CIFAR-10N,SD-198,MS-COCO,Seeds,Clevr-Count", *accuracies("a,b,c,d,e")),
        "--accuracy",
        says=["datasets: 5", "columns that describe models: none"],
    ),
    Row(
        "a dataset that ranks models the other way round is one, and told of",
        csv(
            "model,cars,dtd,lines",
            *(f"n{k},{60 + 2 * k}.{k},{50 + k}.{k},{80 - 2 * k}.{k}" for k in range(9)),
        ),
        "--accuracy",
        says=["datasets: 3", "note: lines ranks models the other way round"],
    ),
    Row(
        "48 words of descriptions beside accuracy",
        csv(
            "model,CIFAR10TestAccuracy200Epochs,params",
            *(f"n{k},{90 + k / 2},{k}.5" for k in range(1, 7)),
        ),
        "--accuracy",
        says=["datasets: 1, median error in percent: CIFAR10TestAccuracy200Epochs"],
    ),
    Row(
        "49 a file for each test set",
        {"a.csv": "\n".join([TIMM, *TIMM_ROWS]), "b.csv": "\n".join([TIMM, *TIMM_ROWS])},
        "--accuracy --ignore top1_err,top5,top5_err",
        asks=["top1 is there twice", "NAME=FILE"],
        command="import a.csv b.csv {} -o o.h5",
    ),
    Row(
        "49 a file for each test set, by name",
        {"a.csv": "\n".join([TIMM, *TIMM_ROWS]), "b.csv": "\n".join([TIMM, *TIMM_ROWS])},
        "--accuracy --ignore top5,top5_err,top1_err",
        says=["3 models x 2 datasets", "datasets: 1, median error in percent: imagenet 14.9"],
        command="import imagenet=a.csv sketch=b.csv {} -o o.h5",
    ),
    Row(
        "rows: cells and methods called like summaries are models",
        csv(
            "arch,cifar10,svhn",
            "|avg_pool_3x3~0|,10.1,12.3",
            "mean teacher,50.2,61.0",
            "best of both,80.3,83.1",
            "|max_pool~0|,60.2,66.6",
        ),
        "--accuracy",
        says=["models: 4"],
    ),
    Row(
        "cells of a table in LaTeX",
        csv(
            "model,cifar10,svhn",
            *(f"m{n},\\textbf{{{80 + n}.5}} $\\pm$ 0.2,{70 + n}.4 $\\pm$ 0.1" for n in range(6)),
        ),
        "--accuracy",
        asks=["cifar10", "with its spread"],
    ),
    Row(
        "rows of headings among models",
        csv("model,a,b", "CNNs,,", "x,90.1,80.2", "y,91.3,81.4", "Transformers,,", "z,92.2,82.3"),
        "--accuracy",
        asks=["no value at all: CNNs, Transformers"],
    ),
    Row(
        "an accuracy of 0 of a run that failed",
        csv("model,a,b", "x,90.1,80.2", "y,91.3,81.4", "z,92.2,0", "v,93.0,83.1"),
        "--accuracy",
        asks=["100%", "z on b"],
    ),
    Row(
        "a share of weights between 0 and 100",
        csv(
            "model,sparsity,cifar10,svhn",
            *(
                f"m{n},{share},{84 + n}.{n},{87 + n}.5"
                for n, share in enumerate((0, 50, 70, 80, 90, 95, 98, 50, 70, 80))
            ),
        ),
        "--accuracy",
        asks=["sparsity"],
    ),
    Row(
        "a long table with values of validation and of test images",
        csv(
            "model,dataset,split,accuracy",
            *(f"m{n},svhn,{part},{80 + n}.5" for n in range(4) for part in ("val", "test")),
        ),
        asks=["column split says test and val"],
    ),
    Row(
        "a second header of units",
        csv("model,params,cars,dtd", ",M,%,%", "a,23.5,80.1,70.2", "b,11.2,81.1,71.2"),
        "--accuracy",
        asks=["row 2", "M, %, %", "second header", "Remove it"],
    ),
    Row(
        "-1 for runs that failed",
        csv("model,cars,dtd", "a,20.1,30.2", "b,-1,31.2", "c,22.1,-1", "d,25.5,33.1"),
        "--error",
        asks=["row 3, b on cars: -1", "failed", "--ignore-rows b,c"],
    ),
    Row(
        "999 for runs that failed, a row for each run",
        csv("model,dataset,error", "a,cars,20.1", "b,cars,999", "c,cars,22.1", "a,dtd,9.5"),
        asks=["row 3, b on cars: 999", "failed", "--ignore-rows b"],
    ),
    Row(
        "a text for a model of which all runs failed",
        csv("model,cars,dtd", "a,20.1,30.2", "b,21.5,31.2", "d,OOM,OOM"),
        "--error",
        asks=["row 4 (d, OOM, OOM)", "--ignore-rows d"],
    ),
    Row(
        "rows are counted as in the file, also where some are left out",
        csv("model,cars,dtd", "note,,", "a,80.5,70.1", "b,81.5,7l.2", "c,82.5,72.3"),
        "--accuracy --ignore-rows note",
        asks=["row 4, column dtd", "'7l.2'"],
    ),
    Row(
        "two tables in one file",
        csv("model,cars,dtd", "a,20.1,30.2", "b,21,31.2", "", "net,pets,food", "a,2,21", "b,25,3"),
        "--error",
        asks=["row 4 (net, pets, food)", "does another table begin there"],
    ),
    Row(
        "two tables of other widths in one file",
        csv("model,cars,dtd", "a,20.1,30.2", "", "net,pets,food,sun", "a,2,21,3", "b,25,3,4"),
        "--error",
        asks=["row 3: 4 cells, the header has 3", "another table? Keep one in a file"],
    ),
    Row(
        "predictions that count from 1",
        {
            "l.csv": LABELS,
            "p.csv": "image,net\n"
            + "".join(f"i{n:03d}.jpg,{1 + g}\n" for n, g in enumerate(GUESSES)),
        },
        asks=["do predictions count from 1"],
        command=PREDICTIONS,
    ),
    Row(
        "rows: an average to the printed digits",
        csv("model,a,b", "x,90.1,80.2", "y,91.3,81.4", "z,92.2,82.3", "Average,91.2,81.3"),
        "--accuracy",
        asks=["'Average'", "mean of the others"],
    ),
    Row(
        "runs of wandb with the dataset in a column of the configuration",
        csv(
            "Name,config/arch,config/dataset,config/seed,test/acc1,train/acc1",
            *(
                f"{data}-{n},r{n % 2},{data},{n // 2},{80 + n + len(data)},99.{n}"
                for data in ("cars", "flowers")
                for n in range(4)
            ),
        ),
        asks=[
            "--map model=config/arch,dataset=config/dataset,replicate=config/seed",
            "accuracy=test/acc1",
        ],
    ),
    Row(
        "runs of MLflow with the dataset among the parameters",
        csv(
            "run_id,metrics.val_accuracy,metrics.test_accuracy,params.model,params.dataset",
            *(
                f"f{n}{data},71.{n},70.{n},r{n},{data}"
                for data in ("cars", "pets")
                for n in range(3)
            ),
        ),
        asks=["model=params.model,dataset=params.dataset,accuracy=metrics.test_accuracy"],
    ),
    Row(
        "a comment above the names",
        csv("# accuracy in percent, by us", "model,cars,pets", "a,70,80", "b,71,81"),
        "--accuracy",
        asks=["row 1 begins with #: a comment?"],
    ),
    Row(
        "a column of ranks called #",
        csv("#,model,cars,pets", "1,a,71.5,81.2", "2,b,70.1,80.3", "3,c,69.2,79.9"),
        "--accuracy",
        asks=["is each of these a dataset? #", "--dataset-columns cars,pets --ignore '#'"],
    ),
    Row(
        "names in two rows",
        csv(",ImageNet,ImageNet,Cars", ",top1,top5,top1", "a,70,90,80", "b,71,91,81"),
        "--accuracy",
        asks=["column 'ImageNet' is there twice", "join them into one"],
    ),
    Row(
        "several weights of one training",
        csv(
            "arch,best_acc,last_acc,ema_acc",
            "a,70.1,69.8,70.6",
            "b,72.3,71.7,72.5",
            "c,75,74.9,75.4",
        ),
        asks=["last_acc, best_acc and ema_acc", "other weights, of one dataset", "--ignore"],
    ),
    Row(
        "averaged weights beside plain ones",
        csv("arch,acc@1,ema_acc@1", "a,70.1,70.6", "b,72.3,72.5", "c,75.2,75.4"),
        asks=["acc@1 and ema_acc@1", "other weights, of one dataset"],
    ),
    Row(
        "rows: an average and a spread, told at once",
        csv(
            "model,a,b",
            "x,90.1,80.2",
            "y,91.3,81.4",
            "Mean,90.7,80.8",
            "Range,1.2,1.2",
            "Human,1,2",
        ),
        "--accuracy",
        asks=["'Human'", "'Mean' is the mean", "'Range' is the range", "Human,Mean,Range"],
    ),
    Row(
        "rows: an average beside a row that is left out",
        csv("model,a,b", "x,90.1,80.2", "y,91.3,81.4", "Average,90.7,80.8", "Chance,10,20"),
        "--accuracy --ignore-rows Chance",
        asks=["'Average'", "mean of the others", "--ignore-rows Chance,Average"],
    ),
    Row(
        "classes that models predict, an image in a row",
        csv("image,r18,r50", "a.png,3,3", "b.png,0,0", "c.png,7,1", "d.png,9,4"),
        "--error",
        asks=["4 of 4 rows are called as images (a.png)", "--predictions DATASET=FILE"],
    ),
    Row(
        "pandas to_json of a frame whose index has the models",
        {
            "t.json": '{"ImageNet_acc": {"r18": 69.8, "r50": 76.1, "v16": 72.8}, '
            '"Shapes_acc": {"r18": 88.6, "r50": 90.0, "v16": 88.4}}'
        },
        asks=["rows are called as datasets (ImageNet_acc, ...)", "--transpose"],
        command="import t.json {} --dry-run",
    ),
    Row(
        "pandas to_json of a frame",
        {
            "t.json": '{"model": {"0": "r18", "1": "r50", "2": "v16"}, "cifar10": {"0": 90.1, '
            '"1": 91.3, "2": 92.7}, "svhn": {"0": 94.1, "1": 95.2, "2": 96.8}}'
        },
        "--accuracy",
        says=["models: 3 from column 'model'", "datasets: 2", "cifar10 8.7"],
        command="import t.json {} --dry-run",
    ),
    Row(
        "pandas to_json with models as index and a text beside",
        {
            "t.json": '{"family": {"r18": "cnn", "vit": "transformer"}, "cifar10": {"r18": 90.1, '
            '"vit": 92.7}, "svhn": {"r18": 94.1, "vit": 96.8}}'
        },
        "--accuracy",
        says=["models: 2", "datasets: 2, median error in percent: cifar10 8.6"],
        command="import t.json {} --dry-run",
    ),
    Row(
        "pandas to_json, orient split",
        {
            "t.json": '{"columns": ["model", "svhn"], "index": [0, 1], "data": [["r18", 94.1], '
            '["r50", 95.5]]}'
        },
        "--accuracy",
        says=["models: 2", "svhn 5.2"],
        command="import t.json {} --dry-run",
    ),
    Row(
        "a typing mistake in a cell",
        csv("model,cars,dtd", "a,80.5,70.1", "b,81.5,7l.2", "c,82.5,72.3"),
        "--accuracy",
        asks=["row 3, column dtd", "'7l.2'"],
    ),
    Row(
        "a small set of whole numbers among decimals is a dataset if it lies with them",
        csv(
            "model,cars,dtd,pets",
            *(f"n{k},{80 + k},{70.3 + k:.1f},{85.1 + k / 2:.1f}" for k in range(8)),
        ),
        "--accuracy",
        says=["datasets: 3"],
    ),
    Row(
        "thousands in a size that is declared",
        csv(
            "model,imagenet,v2,param_count",
            'a,80.1,70.2,"1,013.01"',
            "b,81.2,71.4,5.3",
            "c,79.4,69.9,25.6",
        ),
        "--accuracy --map parameters=param_count",
        says=["datasets: 2", "columns that describe models: parameters"],
    ),
    Row(
        "train and test of two datasets",
        csv(
            "model,cars_train,cars_test,dtd_train,dtd_test",
            *(
                f"n{k},{99 - k / 9:.1f},{80 + k / 2:.1f},{98 - k / 8:.1f},{60 + k / 3:.1f}"
                for k in range(7)
            ),
        ),
        "--accuracy",
        asks=["cars_train", "dtd_train"],
    ),
)
#: Public tables: their header, and rows like theirs.
PUBLIC = (
    Row(
        "timm results",
        csv(TIMM, *TIMM_ROWS),
        "--accuracy",
        says=[
            "datasets: 2, median error in percent: top1 14.9, top5 2.7",
            "top1_err is not read",
            "img_size, param_count, crop_pct, interpolation",
            "two measures",
        ],
    ),
    Row(
        "timm results of a shift",
        csv(
            f"{TIMM},top1_diff,top5_diff,rank_diff",
            *(f"{row},{-20 - n}.5,{-9 - n}.1,{n - 1}" for n, row in enumerate(TIMM_ROWS)),
        ),
        "--accuracy",
        says=["datasets: 2", "top1_diff, top5_diff, rank_diff"],
    ),
    Row(
        "timm benchmark",
        csv(
            "model,infer_samples_per_sec,infer_step_time,infer_batch_size,infer_img_size,param_count",
            "tinynet_e,70939.06,14.424,1024,106,2.04",
            "mobilenetv3,57900.1,17.68,1024,224,1.59",
        ),
        "--accuracy",
        asks=["called like no accuracies"],
    ),
    Row(
        "open_clip",
        csv(
            "name,pretrained,params (M),FLOPs (B),Average perf. on 4 datasets,ImageNet 1k,"
            "Caltech-101,CLEVR Counts,PatchCamelyon",
            "ViT-H,dfn5b,986.11,381.68,0.6872,0.8344,0.9524,0.3322,0.6298",
            "ViT-B,openai,149.62,41.09,0.5771,0.6834,0.9240,0.2310,0.6700",
            "RN50,yfcc15m,102.01,18.18,0.4020,0.3253,0.6100,0.1520,0.5207",
        ),
        "--accuracy --fraction --map model=name+pretrained",
        says=[
            "datasets: 4, median error in percent: ImageNet 1k 31.66",
            "params (M), FLOPs (B), Average perf. on 4 datasets",
        ],
    ),
    Row(
        "torchvision",
        csv(
            "Weight,Acc@1,Acc@5,Params,GFLOPS,Recipe",
            "AlexNet_V1,56.522,79.066,61.1M,0.71,link",
            "ConvNeXt_B,84.062,96.87,88.6M,15.36,link",
            "DenseNet121,74.434,91.972,8.0M,2.83,link",
        ),
        says=[
            "datasets: 2, median error in percent: Acc@1 25.57",
            "Params, GFLOPS",
            "two measures",
        ],
    ),
    Row(
        "RobustBench",
        csv(
            "Rank,Method,Standard accuracy,AutoAttack robust accuracy,AA eval. potentially "
            "unreliable,Extra data,Architecture,Venue",
            "1,Adversarial Robustness Limits,93.68%,73.71%,False,True,WideResNet-94-16,ICML 2024",
            "2,MeanSparse,93.24%,72.08%,False,True,RaWideResNet-70-16,arXiv 2024",
            "3,Robust Principles,93.27%,71.07%,False,False,RaWideResNet-70-15,BMVC 2023",
        ),
        says=["datasets: 2, median error in percent: Standard accuracy 6.73"],
    ),
    Row(
        "DomainBed",
        csv(
            "Algorithm,VLCS,PACS,OfficeHome,TerraIncognita,DomainNet,Avg",
            "ERM,77.5 ± 0.4,85.5 ± 0.2,66.5 ± 0.3,46.1 ± 1.8,40.9 ± 0.1,63.3",
            "IRM,78.5 ± 0.5,83.5 ± 0.8,64.3 ± 2.2,47.6 ± 0.8,33.9 ± 2.8,61.6",
            "CORAL,78.8 ± 0.6,86.2 ± 0.3,68.7 ± 0.3,47.6 ± 1.0,41.5 ± 0.1,64.6",
        ),
        "--accuracy",
        says=["datasets: 5, median error in percent: VLCS 21.5", "Avg is no dataset: the mean"],
    ),
    Row(
        "NATS-Bench",
        csv(
            "arch,cifar10,cifar100,ImageNet16-120",
            "|nor_conv_3x3~0|+|avg_pool_3x3~0|none~1|+|none~0|none~1|avg_pool_3x3~2|,93.76,70.71,44.7",
            "|avg_pool_3x3~0|+|avg_pool_3x3~0|avg_pool_3x3~1|+|none~0|none~1|none~2|,66.1,31.2,18.4",
            "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|,10.0,1.0,0.83",
        ),
        "--accuracy",
        says=["models: 3", "datasets: 3"],
    ),
    Row(
        "NAS-Bench-Macro",
        {
            "t.json": '{"00000000": {"mean_acc": 88.01, "std": 0.2, "params": 0.4, "flops": 34.5}, '
            '"00000001": {"mean_acc": 89.4, "std": 0.11, "params": 0.6, "flops": 38.1}, '
            '"00000002": {"mean_acc": 90.2, "std": 0.3, "params": 0.9, "flops": 41.0}}'
        },
        says=["datasets: 1, median error in percent: mean_acc 10.6", "std, params, flops"],
        command="import t.json {} --dry-run",
    ),
    Row(
        "CLIP_benchmark",
        csv(
            "acc1,acc5,mean_per_class_recall,dataset,model,pretrained,task,mean_average_precision,"
            "image_retrieval_recall@5",
            "0.6834,0.9183,0.6830,imagenet1k,ViT-B-32,openai,zeroshot_classification,,",
            "0.8980,0.9960,0.8982,cifar10,ViT-B-32,openai,zeroshot_classification,,",
            "0.6667,0.9080,0.6665,imagenet1k,ViT-B-32,laion2b,zeroshot_classification,,",
            "0.9355,0.9978,0.9354,cifar10,ViT-B-32,laion2b,zeroshot_classification,,",
        ),
        "--map accuracy=acc1,model=model+pretrained --fraction",
        says=["models: 2", "datasets: 2"],
    ),
    Row(
        "model-soups",
        csv(
            "model,ImageNet,ImageNetV2,ImageNetR,ImageNetSketch,ImageNetA,lr,wd,mix,smoothing",
            "m0,0.80381,0.68513,0.70230,0.51532,0.36640,0.00002,0.1,0.14,0.05",
            "m1,0.80147,0.68342,0.69310,0.51123,0.35310,0.00003,0.02,0.33,0.0",
            "m2,0.79830,0.67921,0.68350,0.50214,0.34010,0.00001,0.3,0.7,0.11",
        ),
        "--accuracy --fraction --ignore mix",
        says=["datasets: 5"],
    ),
    Row(
        "pycls",
        {
            "t.json": '{"RegNetX-200MF": {"top1_err": 31.1, "top5_err": 11.0}, "RegNetX-400MF": '
            '{"top1_err": 27.4, "top5_err": 9.0}, "date-created": "2020-09-04 08:38:35"}'
        },
        says=["models: 2", "date-created"],
        command="import t.json {} --dry-run",
    ),
    Row(
        "imagenet-testbed",
        csv(
            "model,val,imagenetv2-matched-frequency,imagenet-a,imagenet-c.gaussian_noise.1",
            "alexnet,56.52,43.74,1.76,30.2",
            "resnet50,76.13,63.2,0.02,59.1",
            "vit_large,85.16,75.1,45.3,78.8",
            "efficientnet-l2,88.1,80.0,84.9,83.2",
        ),
        "--accuracy",
        says=["datasets: 4"],
    ),
    Row(
        "MedMNIST",
        csv(
            "Methods,PathMNIST AUC,PathMNIST ACC,DermaMNIST AUC,DermaMNIST ACC",
            "ResNet-18 (28),0.983,0.907,0.917,0.735",
            "ResNet-50 (28),0.990,0.911,0.913,0.735",
            "auto-sklearn,0.934,0.716,0.902,0.719",
        ),
        "--fraction",
        says=[
            "datasets: 2, median error in percent: PathMNIST ACC 9.3",
            "columns that describe models: PathMNIST AUC, DermaMNIST AUC",
        ],
    ),
    Row(
        "VTAB-1k",
        csv(
            f"Method,Mean,{VTAB}",
            *(
                f"{row.split(',', 1)[0]},72.{n},{row.split(',', 1)[1]}"
                for n, row in enumerate(accuracies(VTAB, seed=3))
            ),
        ),
        "--accuracy",
        says=["datasets: 19", "columns that describe models: Mean"],
    ),
    Row(
        "MMPretrain",
        csv(
            "Model,Pretrain,Params (M),Flops (G),Top-1 (%),Top-5 (%),Config",
            "resnet18,From scratch,11.69,1.82,69.90,89.43,config",
            "resnet34,From scratch,21.80,3.68,73.62,91.59,config",
            "resnet50,From scratch,25.56,4.12,76.55,93.06,config",
        ),
        "--accuracy",
        says=["datasets: 2, median error in percent: Top-1 (%) 26.38", "two measures"],
    ),
    Row(
        "a spreadsheet with decimal commas and millions",
        {
            "t.csv": "Modell;CIFAR-10;CIFAR-100;Parameter (Mio.)\nResNet18;95,21;77,42;11,2\n"
            "ResNet50;95,60;78,90;23,5\nVGG16;93,10;72,33;14,7\n"
        },
        "--accuracy",
        says=["datasets: 2", "columns that describe models: Parameter (Mio.)"],
    ),
    Row(
        "ImageNet-C",
        csv(
            "Network,Clean Error,mCE,Gauss.,Shot,Impulse",
            *("AlexNet,43.5,100.0,69,71,72", "ResNet-18,30.2,84.7,61,64,68"),
            "ResNet-50,23.9,76.7,55,57,60",
        ),
        "--error",
        says=["datasets: 4, median error in percent: Clean Error 30.2"],
    ),
    Row(
        "AutoGluon",
        csv(
            "model,score_test,score_val,pred_time_test,fit_time,stack_level,can_infer",
            "WeightedEnsemble_L2,0.8412,0.8501,0.33,61.2,2,True",
            "CatBoost,0.8390,0.8466,0.01,20.1,1,True",
            "LightGBM,0.8371,0.8440,0.02,2.2,1,True",
        ),
        "--accuracy --fraction",
        asks=["score_test", "stack_level", "--dataset-columns score_test --ignore"],
    ),
    Row(
        "a readme with a column of links called model",
        csv(
            "name,resolution,acc@1,#params,FLOPs,model",
            *("ConvNeXt-T,224x224,82.1,28M,4.5G,model", "ConvNeXt-S,224x224,83.1,50M,8.7G,model"),
        ),
        says=["models: 2 from column 'name'", "datasets: 1, median error in percent: acc@1 17.4"],
    ),
    Row(
        "wandb",
        csv(
            "Name,State,Notes,User,Tags,Created,Runtime,Sweep,lr,epochs,weight_decay,test/acc",
            "sunny-1,finished,-,me,,2024-01-02T10:11:12Z,3601,,0.1,90,0.0001,0.8412",
            "rainy-2,finished,-,me,,2024-01-02T12:11:12Z,3590,,0.05,90,0.0005,0.8533",
            "misty-3,finished,-,me,,2024-01-02T14:11:12Z,3612,,0.01,90,0.001,0.8371",
        ),
        "--fraction",
        says=["datasets: 1, median error in percent: test/acc 15.88"],
    ),
    Row(
        "MLflow",
        csv(
            "run_id,experiment_id,status,start_time,metrics.test_acc,metrics.train_loss,params.lr,"
            "params.model,tags.mlflow.runName",
            "0af1,1,FINISHED,2024-01-02 10:11:12,0.8412,0.41,0.1,r18,a",
            "0bf2,1,FINISHED,2024-01-02 11:11:12,0.8533,0.35,0.05,r34,b",
            "0cf3,1,FINISHED,2024-01-02 12:11:12,0.8371,0.44,0.01,r50,c",
        ),
        "--fraction",
        says=[
            "models: 3 from column 'run_id'",
            "median error in percent: metrics.test_acc 15.88",
            "datasets: 1",
        ],
    ),
    Row(
        "Optuna",
        csv(
            "number,value,datetime_start,datetime_complete,duration,params_lr,params_wd,state",
            "0,0.8412,2024-01-02 10:00:00,2024-01-02 10:10:00,0 days 00:10:00,0.1,0.0001,COMPLETE",
            "1,0.8533,2024-01-02 10:10:00,2024-01-02 10:20:00,0 days 00:10:00,0.05,0.0005,COMPLETE",
            "2,0.8371,2024-01-02 10:20:00,2024-01-02 10:30:00,0 days 00:10:00,0.01,0.001,COMPLETE",
        ),
        "--accuracy --fraction",
        says=["datasets: 1, median error in percent: value 15.88", "params_lr, params_wd"],
    ),
    Row(
        "Keras' history",
        csv(
            "epoch,accuracy,loss,val_accuracy,val_loss",
            "0,0.31,1.9,0.40,1.6",
            "1,0.45,1.5,0.50,1.4",
            "2,0.55,1.3,0.56,1.2",
        ),
        "--fraction",
        asks=["each epoch"],
    ),
)


@pytest.mark.parametrize("row", [*CASES, *PUBLIC], ids=lambda row: row.name)
def test_a_table_is_understood_or_asked_about(
    row: Row, tmp_path: Path, record_property: Record
) -> None:
    ended, said = row.judged(tmp_path)
    record_property("corpus", ended)
    assert ended == "fine", said
    assert "Traceback" not in said


ASKED = [row for row in (*CASES, *PUBLIC) if row.asks]


@pytest.mark.parametrize("row", ASKED, ids=lambda row: row.name)
def test_every_hint_pasted_works(row: Row, tmp_path: Path) -> None:
    """What a message tells to type leads to an account, at most by way of one more question."""
    _, said = row.ends(tmp_path)
    for number, hint in enumerate(hints(said)):
        folder = tmp_path / str(number)
        folder.mkdir()
        then, answer = row.ends(folder, hint)
        if then == 2 and (next_hints := hints(answer)):
            assert answer != said, hint
            (folder / "again").mkdir()
            then, answer = row.ends(folder / "again", f"{hint} {next_hints[0]}")
        assert then == 0, f"{hint}: {answer}"


def test_an_unknown_name_of_a_row_is_refused(tmp_path: Path) -> None:
    row = Row("x", csv("model,a,b", "x,90.1,80.2", "y,91.3,81.4"), "--accuracy --ignore-rows z")
    assert "no row 'z'" in row.ends(tmp_path)[1]
    assert issubclass(UserError, ValueError)
