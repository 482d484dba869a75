"""A household's receipts and a reader's questions: short texts with known answers.

Receipts are lines such as a budget survey collects, each with its price and its
division in the UN's classification of consumption by purpose (COICOP 2018,
unstats.un.org/unsd/classifications). Some are labelled, and the others are to be
sorted by what they mean. Questions come with passages, one of which answers each. All
of them were written before any model was tried on them.
"""

from dataclasses import dataclass

__all__ = ["Receipts", "economics_questions", "receipts"]

DIVISIONS = (
    "food",
    "clothing",
    "housing",
    "health",
    "transport",
    "communication",
    "recreation",
    "restaurants",
)

_LABELLED = {
    "food": "wholemeal bread 4, two litres of milk 3, ground beef 12, bag of apples 5, "
    "basmati rice 4, cheddar cheese 7, frozen peas 3, dozen eggs 6",
    "clothing": "winter coat 180, pair of jeans 90, running shoes 120, wool socks 15, "
    "summer dress 70, leather belt 40, resoling of boots 35, school uniform 85",
    "housing": "monthly rent of the flat 1450, electricity bill 95, heating oil 310, "
    "water and sewage charges 60, repair of a leaking tap 130, "
    "delivery of firewood 120, garbage collection fee 25, "
    "paint for the bedroom walls 55",
    "health": "dentist appointment 140, prescription antibiotics 28, new glasses 260, "
    "physiotherapy session 75, hospital stay 400, plasters and bandages 9, "
    "blood test 65, hearing aid batteries 12",
    "transport": "monthly bus pass 80, full tank of petrol 75, train ticket to the "
    "capital 44, new car tyres 320, taxi ride home 26, bicycle repair 60, "
    "motorway toll 18, driving lessons 95",
    "communication": "mobile phone contract 39, broadband subscription 55, "
    "postage stamps 11, landline calls 14, sending a parcel 13, new smartphone 520, "
    "prepaid SIM card 20, registered letter 6",
    "recreation": "two cinema tickets 32, gym membership 65, paperback novel 14, "
    "guitar strings 17, cat food 22, video game 60, museum entry 15, "
    "flower seeds for the garden 8",
    "restaurants": "lunch at the canteen 13, pizza at an Italian restaurant 24, "
    "cup of coffee in a bar 5, night in a hotel 145, takeaway curry 19, "
    "three-course dinner for two 110, beer at the pub 7, youth hostel bed 38",
}
_UNLABELLED = {
    "food": "carrots and potatoes 6, smoked salmon 14, box of breakfast cereal 5, "
    "olive oil 11, strawberry yoghurt 2, chicken thighs 9",
    "clothing": "silk tie 45, children's sandals 38, raincoat 95, T-shirts in a pack "
    "of three 25, evening gown hire 150, mending a torn jacket 30",
    "housing": "studio apartment per month 890, gas for the boiler 120, "
    "plumber's visit 160, caretaker of the building 70, new roof tiles 640, "
    "chimney sweep 85",
    "health": "doctor's consultation 110, cough syrup 13, X-ray of the wrist 180, "
    "contact lenses 49, wheelchair rental 90, vaccination against flu 35",
    "transport": "flight to Lisbon 210, parking at the station 16, oil change for the "
    "van 130, ferry crossing 58, underground fare 4, electric scooter 450",
    "communication": "internet router 99, roaming charges abroad 23, courier delivery "
    "of documents 31, text message bundle 10, repair of a cell phone screen 140, "
    "postcard to Canada 3",
    "recreation": "concert by a symphony orchestra 68, tennis racket 130, newspaper "
    "subscription 35, jigsaw puzzle 21, swimming pool season pass 160, dog leash 18",
    "restaurants": "sushi for lunch 22, room for the weekend at an inn 230, "
    "cappuccino and croissant at a cafe 9, burger and fries 15, wine tasting menu 95, "
    "breakfast buffet at the guesthouse 18",
}

# A question, and the passage that answers it.
_QUESTIONS: str = """\
Why do bread prices jump after a bad harvest?
When crops fail, grain is scarce and bakers have to pay more for flour.
What happens to borrowers when the central bank tightens?
After an increase of the policy rate, mortgages and loans become more expensive.
Do minimum wages destroy jobs?
Studies of neighboring counties find that a higher pay floor had little effect on \
employment.
Why are rich countries rich?
Differences in income per head reflect institutions, capital and technology.
How does a stronger currency affect exporters?
When the franc appreciates, goods sold abroad cost foreign buyers more.
Why do people insure themselves?
Households that dislike risk pay a premium to be compensated for large losses.
What limits a monopolist's profit?
A single seller loses customers when it charges too much.
Who bears a tax on cigarettes?
Because smokers hardly reduce their purchases, most of the duty is passed on to them.
Does education raise earnings?
One more year at school goes along with wages that are about eight percent higher.
Why can a bank fail although its loans are sound?
If all depositors withdraw at once, even a solvent lender runs out of cash.
How do economists measure inequality?
The Gini coefficient is zero when everyone has the same income.
Why do firms hold inventories?
Stocks in the warehouse allow sales to go on when deliveries are late.
Can printing money cause inflation?
If the money supply grows faster than output, the price level rises in the long run.
What makes a recession end?
Activity recovers once spending by consumers and businesses picks up again.
Why do airlines charge different fares for the same seat?
Carriers ask more from travelers who book late and are willing to pay.
What is the cost of pollution?
Smoke from factories harms neighbors who are not paid for the damage.
How does trade affect workers in manufacturing?
Regions that compete with imports lost factory employment.
Why do government bonds pay little?
Investors accept a low yield on debt that is almost certain to be repaid.
What happens when a city caps rents?
Landlords offer fewer flats if they may not charge tenants the market price.
Why did people move from farms to cities?
Machines replaced labor in agriculture while industry was hiring in towns.
"""


@dataclass(frozen=True, kw_only=True)
class Receipts:
    """Lines of a household's receipts."""

    texts: list[str]  #: What was bought
    prices: list[float]  #: In francs
    divisions: list[int]  #: What each is, a number into `DIVISIONS`


def receipts() -> tuple[Receipts, Receipts]:
    """Read 64 labelled lines, and 48 others to be sorted, with their right answers."""
    return _receipts(_LABELLED), _receipts(_UNLABELLED)


def economics_questions() -> tuple[list[str], list[str]]:
    """Read twenty questions, and the passages that answer them, in the same order."""
    lines = _QUESTIONS.splitlines()
    return lines[::2], lines[1::2]


def _receipts(lines: dict[str, str]) -> Receipts:
    found = [
        (*line.rsplit(" ", 1), DIVISIONS.index(division))
        for division, text in lines.items()
        for line in text.split(", ")
    ]
    texts, prices, divisions = map(list, zip(*found, strict=True))
    return Receipts(texts=texts, prices=list(map(float, prices)), divisions=divisions)
