# Prints what ansible-core makes of the expressions of a case, as JSON. A value that
# Ansible refuses is {"error": TRUE}.
import json
import sys

import yaml
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.conditional import Conditional
from ansible.template import Templar

case = yaml.safe_load(open(sys.argv[1]))
loader = DataLoader()
variables = case["vars"]
out = {}


def ask(key, compute):
    try:
        value = compute()
        json.dumps(value)
    except Exception:
        value = {"error": True}
    out[key] = value


def holds(expression):
    conditional = Conditional(loader=loader)
    conditional.when = [expression]
    return conditional.evaluate_conditional(Templar(loader=loader, variables=variables), variables)


def value(source):
    answer = Templar(loader=loader, variables=variables).template(source)
    return answer if isinstance(answer, bool) or not isinstance(answer, (int, float)) else str(answer)


def text(source, escape_backslashes=False):
    return Templar(loader=loader, variables=variables).template(
        source, convert_data=False, preserve_trailing_newlines=True, escape_backslashes=escape_backslashes)


for e in case.get("expressions", []):
    ask("value {{ %s }}" % e, lambda: value("{{ %s }}" % e))
    ask("text <{{ %s }}>" % e, lambda: text("<{{ %s }}>" % e, escape_backslashes=True))
    ask("file <{{ %s }}>" % e, lambda: text("<{{ %s }}>" % e))
for e in case.get("conditions", []):
    ask("condition " + e, lambda: bool(holds(e)))
    ask("file if " + e, lambda: text("{%% if %s %%}True{%% else %%}False{%% endif %%}" % e))
for t in case.get("templates", []):
    ask("template " + t, lambda: text(t))
print(json.dumps(out))
