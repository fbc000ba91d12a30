"""Words that decide whether a capital letter makes a name, in English and Italian."""

from __future__ import annotations

from ricordo.consolidation.atoms.dates import MONTHS


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that stand between spaces."""
    return frozenset(text.split())


GIVEN_NAMES = word_set(
    "aaron abigail ada adam adele adrian agatha agnes ahmed aisha akira alberta alberto aldo alessandra "
    "alessandro alessia alessio alex alexander alfredo alice alicia alina allison amalia amanda amelia amir amira "
    "amy ana anastasia andrea andreas andrew angela angelo angus anika anil anita anja anna anne anthony antoine "
    "anton antonella antonio arianna arjun arthur ashley ashok astrid audrey aurora axel barbara barry basil "
    "beatrice ben benedetta benjamin bernard bernardo bert beth bettina betty bianca bjorn bob boris boyd brad "
    "bradley bram brandon brenda brent brian bridget bruno bryan caleb cameron camilla camille carla carlo carlos "
    "carlotta carmela carmen carol caroline carolyn caterina cecilia celeste cesare charles charlie charlotte "
    "chen chiara chidi chloe chris christian christina christine christoph christopher claire clara claude "
    "claudia claudine claudio cole colin connor corrado cosimo craig cristina cynthia damian damiano dan daniel "
    "daniela daniele danny dario darren david davide deborah debra deepak denis dennis derek diana diane diego "
    "dmitri domenico dominic donald doris douglas duncan dylan edith edna edoardo eduardo edward edwin eileen "
    "elaine eleanor elena eleonora elias elio elisa eliza elizabeth ella ellen ellie elsa emanuele emil emilia "
    "emilio emily emma emmanuel enrico enzo eric erica erik erika ernesto esther ethan ettore eugene eugenia eva "
    "evan evelyn fabio fabrizio fatima fatma fausto federica federico felicia felix ferdinand fernando filippo "
    "fiona flavia flavio flora florence francesca francesco francis franco frank franz fred frederick fritz "
    "gabriele gaia gary gemma geoffrey george gerald gerard gianluca gianna gianni gilbert gina ginevra gino "
    "giorgia giorgio giovanna giovanni giulia giulio giuseppe glen gloria gordon graham gregory greta guido "
    "gunther gwen hannah hans harold harriet harry harvey hassan heather heidi heinrich helen helena henry "
    "herbert hiro hiroshi holly howard hugh hugo ian ida ignazio igor ilaria ilya ines ingrid irene irina isaac "
    "isabel isabella isla ivan ivy jack jacob jacques jade jake james jamie jan jana jane janet jasmine jason "
    "jasper javier jean jeffrey jennifer jenny jeremy jerry jessica jessie jim jin joan joanna joanne joao joe "
    "joel johan johanna john jonas jonathan jordan jorge jose josef joseph josephine joshua joyce juan judith "
    "julie juliet justin karen karin karina karl kate katherine kathleen katia keith kelly ken kenji kenneth "
    "kevin khalid kim kimberly kirsten klaus kofi kurt kwame kyle kylie lara larry lars laura lauren layla lea "
    "leah leila lena leo leonardo leonora leslie lewis liam lidia lillian lily lina linda lisa livia logan lola "
    "lorenzo lorna lorraine louis louise luca lucas lucia luciano lucy ludovica luigi luigia luis luisa lydia "
    "lynn maddalena madeleine malik manuel manuela marcel marcella marco marcus margaret margherita maria mariana "
    "marianna marie marilyn marina mario marion marlene marta martina marvin mary mason mateo mateus matilda "
    "matilde matteo matthew maureen maurice maurizio megan mehmet mei melanie melissa michael michel michele "
    "michelle miguel mike miranda miriam mirko mitchell mohamed mohammed molly monica morgan muhammad murray "
    "nadia nadine nancy naomi natalia natalie nathan neil nelson ngozi nicholas nicola nicolas nicole nigel nils "
    "nina nino noah noel noemi noor nora norma norman olga oliver olivia omar ornella oscar oskar owen pablo pam "
    "pamela paola paolo pascal patricia patrick patrizia patty paul paula pauline pavel pearl pedro penny perry "
    "peter petra phil philip philippe pierre pietro pilar pippa priscilla priya quentin quinn rachel rafael "
    "raffaele raffaella raj ralph ramon randy raphael ravi raymond rebecca regina reginald renata renato renee "
    "rhys ricardo riccardo richard rita rob robert roberta roberto robin roger roland rolf roman romeo ron ronald "
    "rosa rosalie rosanna rosario ross roxanne ruby rudolf rupert russell ruth ryan sabina sabrina sally salvador "
    "salvatore sam samantha samira samuel sandra sandro santiago sara sarah sarita saverio scott sean sebastian "
    "serena serge sergei sergio seth shane sharon sheila shirley sibylle sidney silvia simon simona simone sofia "
    "sonia sonya sophia sophie stacy stan stanley stefan stefania stefano stella stephanie stephen steve steven "
    "stuart sunil sunita susan susanna suzanne sven svetlana sylvia tamara tania tanya tara ted terence teresa "
    "terry thea theo theodore theresa thomas tiago tiffany tim timothy tina tobias toby todd tom tommaso toni "
    "tony tracy travis trevor tristan tyler ugo umberto ursula valentina vanessa vernon victor victoria viktor "
    "vincent vincenzo virginia viviana walter wanda warren wayne wei wendy wilhelm william willow wolfgang xavier "
    "yasmin yuki yusuf yvonne zachary zara zeno zoe zoey"
)
"""Common given names that are no other word: at the start of a sentence they are names all the same."""

NEVER = word_set(
    # days, and words that are capitalised by convention rather than as names
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "lunedi martedi mercoledi giovedi venerdi sabato domenica i i'm i'd i'll i've "
    "user users assistant agent customer client system tool human utente assistente agente cliente "
    # capitals for emphasis
    "urgent confirmed pending cancelled canceled important warning note critical blocked completed done approved "
    "rejected unknown optional required decision action actions items summary total open closed failed passed success "
    "error not never always must urgente confermato importante attenzione "
    "iban vat iva tel dob otp pin sms gmt utc cet cest eur usd gbp chf kb mb gb tb "
    "mr mrs ms dr prof dott dott.ssa sig sig.ra ing avv "
    # acronyms that a summariser uses of itself
    "ok id ids todo tbd tba fyi asap api apis url urls ui db faq faqs eta aka am pm n/a na et al vs ie eg ps nb tl dr "
    "pdf ai it us eu pr prs cv json csv html"
) | frozenset(MONTHS)
"""Words that are capitalised by convention, and acronyms that a summariser uses of itself: never names."""

ROLES = word_set(
    "he she it they we you who one someone everyone nobody patient student buyer seller vendor team company owner "
    "doctor manager boss husband wife son daughter mother father brother sister friend colleague candidate author "
    "reviewer tenant landlord speaker teacher professor guest passenger caller board lawyer contractor supplier "
    "developer engineer designer tester maintainer both all each neither mom dad kid kids parents paziente studente "
    "venditore acquirente proprietario medico marito moglie figlio figlia madre padre fratello sorella amico amica "
    "collega candidato autore relatore relatrice docente professore professoressa inquilino tecnico ospite chi lui "
    "lei egli ella nessuno qualcuno ciascuno ognuno ditta azienda fornitore impiegato today yesterday tomorrow that "
    "there here what let this"
)
"""What a summariser calls people whose name it does not give, and words that stand in their place."""

COMMON = word_set(
    "from about over under until by in on at for to with since after before around up only nearly almost roughly "
    "approximately circa dal dalle da dopo prima entro oltre fino alle sono restano line page room section version "
    "step order seat gate flight row total number the a an all and but not no yes if when "
    "ask call email tell meet contact book use send pay remind notify invite thank help let get give chiedere "
    "chiamare contattare sentire avvisare scrivere pagare inviare"
)
"""Words that open a sentence before a name or a figure without being part of it."""

SMALL = word_set(
    "a an the of and or for to in on at by with from that this into over after before than as vs via il lo la i gli le "
    "un una di da del dello della dei degli delle al allo alla ai agli alle nel nella sul sulla con per tra fra e ed o "
    "come d"
)
"""Words that a title leaves in lower case."""
