package profile

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func none(string) (string, bool) { return "", false }

// load reads a file that has no mistake.
func load(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load([]byte(text), "maintenance.yaml", Options{Env: none, Triggers: []string{"reboot", "playbook"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func published(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/flatcar-kubelet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublishedExampleLoads(t *testing.T) {
	c := load(t, published(t))
	if c.Interval != time.Minute || !c.Has("flatcar") || !c.Has("kubelet") || !c.Has(DefaultProfile) {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]string{"maintenance.yaml:4:11: intervals.notify has no effect"}, c.Notes); diff != "" {
		t.Error(diff)
	}
	required := c.profiles["flatcar"].states[Required]
	if len(required.transitions) != 1 || required.transitions[0].when.String() != "count && stagger" || required.transitions[0].do[0].Name != "reboot_ok" {
		t.Errorf("%+v", required)
	}
	thread := c.profiles["flatcar"].states[InMaintenance].notify[0].To.(*SlackThread)
	if thread.Channel != "#channel" || time.Duration(thread.Period) != 12*time.Hour {
		t.Errorf("%+v", thread)
	}
}

// base is a file to which tests add mistakes, from line 11 on.
const base = `intervals: {requeue: 30s}
instances:
  check:
  - {type: hasLabel, name: wanted, config: {key: a}}
  - {type: affinity, name: spread}
  notify:
  - {type: slack, name: tell, config: {hook: "https://hooks.example.com/x", channel: c, message: m}, schedule: {type: oneshot}}
  trigger:
  - {type: alterLabel, name: mark, config: {key: done, value: "true"}}
  - {type: eviction, name: drain-it, config: {action: drain}}
`

func TestMistakesHaveAPlaceAndAHint(t *testing.T) {
	profile := func(state string) string {
		return base + "profiles:\n- name: p\n  operational:\n    " + state + "\n"
	}
	transition := func(rest string) string {
		return profile("transitions:\n    - " + rest)
	}
	check := func(in string) string {
		return "intervals: {requeue: 30s}\ninstances:\n  check:\n  - " + in + "\n"
	}
	notify := func(in string) string {
		return "intervals: {requeue: 30s}\ninstances:\n  notify:\n  - " + in + "\n"
	}
	trigger := func(in string) string {
		return "intervals: {requeue: 30s}\ninstances:\n  trigger:\n  - " + in + "\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {"intervals: {requeue: 30s}\nprofils: []", `2:1: unknown key "profils"; did you mean "profiles"?`},
		"no interval":       {"profiles: []", `1:1: key "intervals" is required: times`},
		"bad interval":      {"intervals: {requeue: soon}", `1:22: intervals.requeue: want a duration such as 30s, 8m or 1h30m, got "soon"`},
		"unknown check":     {transition(`{check: wantd, next: maintenance-required}`), `15:15: there is no check "wantd"; did you mean "wanted"?`},
		"in an expression":  {transition(`{check: "wanted && !(wanted || wantde)", next: maintenance-required}`), `15:38: there is no check "wantde"; did you mean "wanted"?`},
		"bracket":           {transition(`{check: "(wanted", next: maintenance-required}`), `15:16: check: this ( is not closed`},
		"one &":             {transition(`{check: "wanted & spread", next: maintenance-required}`), `15:23: check: want &&, got one &`},
		"two names":         {transition(`{check: wanted spread, next: maintenance-required}`), `15:22: check: want && or || before "spread"`},
		"no operand":        {transition(`{check: "wanted && ", next: maintenance-required}`), `15:26: check: the expression ends too early: want the name of a check`},
		"empty check":       {transition(`{check: "", next: maintenance-required}`), `15:16: check: the expression ends too early: want the name of a check`},
		"no check":          {transition(`{next: maintenance-required}`), `15:7: profiles[0].operational.transitions[0]: key "check" is required: expression over checks`},
		"unknown state":     {transition(`{check: wanted, next: in-maintenence}`), `15:29: next: there is no state "in-maintenence"; did you mean "in-maintenance"?`},
		"same state":        {transition(`{check: wanted, next: operational}`), `15:29: next: the node is in the state operational already, so the transition would do nothing`},
		"affinity":          {transition(`{check: spread, next: maintenance-required}`), `15:15: check spread of type affinity works in the state maintenance-required only`},
		"unknown trigger":   {transition(`{check: wanted, next: in-maintenance, trigger: mark && drainit}`), `15:62: there is no trigger "drainit"; did you mean "drain-it"?`},
		"or of triggers":    {transition(`{check: wanted, next: in-maintenance, trigger: mark || drain-it}`), `15:54: trigger: "mark || drain-it" is not the name of a trigger; names are joined with && only`},
		"unknown notify":    {profile("notify: tel"), `14:13: there is no notification "tel"; did you mean "tell"?`},
		"unknown enter":     {profile("enter: mrak"), `14:12: there is no trigger "mrak"; did you mean "mark"?`},
		"unknown in state":  {profile("transition: []"), `14:5: unknown key "transition" in profiles[0].operational; did you mean "transitions"?`},
		"profile twice":     {base + "profiles:\n- name: p\n- name: p\n", `13:9: there are two profiles with the name p`},
		"name of a profile": {base + "profiles:\n- name: a--b\n", `12:9: "a--b" is not a name for a profile: the label of nodes joins names with --`},
		"check type":        {check("{type: hasLable, name: a}"), `4:12: there is no check type "hasLable"; did you mean "hasLabel"?`},
		"SAP's check":       {check("{type: kubernikusCount, name: a}"), `4:12: check type kubernikusCount does not exist here: it asks SAP's Kubernikus API; nodeCount compares with a number`},
		"check twice":       {check("{type: affinity, name: a}\n  - {type: affinity, name: a}"), `5:28: there are two checks with the name a`},
		"name of a check":   {check(`{type: affinity, name: "a b"}`), `4:29: "a b" is not a name for a check: want letters, digits, _ and -`},
		"no config":         {check("{type: hasLabel, name: a}"), `4:12: check a: key "key" is required: key of the label`},
		"empty key":         {check(`{type: hasLabel, name: a, config: {key: ""}}`), `4:39: check a: key is empty`},
		"key of a config":   {check("{type: hasLabel, name: a, config: {key: a, val: b}}"), `4:48: unknown key "val" in check a; did you mean "value"?`},
		"type of a config":  {check("{type: maxMaintenance, name: a, config: {max: many}}"), `4:51: max of check a: want a whole number, got "many"`},
		"range":             {check("{type: stagger, name: a, config: {duration: 1m, leaseName: a, leaseNamespace: b, parallel: 0}}"), `4:96: parallel of check a: want at least 1, got "0"`},
		"short stagger":     {check("{type: stagger, name: a, config: {duration: 10ms, leaseName: a, leaseNamespace: b}}"), `4:38: check a: duration must be at least 1s: Leases count whole seconds`},
		"weekday":           {check("{type: timeWindow, name: a, config: {start: '01:00', end: '02:00', weekdays: [mondy]}}"), `4:83: weekdays[0] of check a: "mondy" is not a weekday; did you mean "monday"?`},
		"window":            {check("{type: timeWindow, name: a, config: {start: '22:00', end: '02:00', weekdays: [mon]}}"), `4:41: check a: end must be later in the day than start; a window over midnight is two windows, joined with ||`},
		"excluded day":      {check("{type: timeWindow, name: a, config: {start: '01:00', end: '02:00', weekdays: [mon], exclude: [24.12.]}}"), `4:99: exclude[0] of check a: want a day such as Dec 24, got "24.12."`},
		"never over":        {check("{type: waitExclude, name: a, config: {duration: 1h, exclude: [mon, tue, wed, thu, fri, sat, sun]}}"), `4:42: check a: exclude has all weekdays: the time would never be over`},
		"condition":         {check("{type: condition, name: a, config: {type: Ready, status: true}}"), `4:62: status of check a: want one of True, False, Unknown, got "true"; did you mean "True"?`},
		"schedule":          {notify("{type: slack, name: a, config: {hook: 'https://x', channel: c, message: m}, schedule: {type: peridic}}"), `4:98: there is no schedule "peridic"; did you mean "periodic"?`},
		"no schedule":       {notify("{type: slack, name: a, config: {hook: 'https://x', channel: c, message: m}}"), `4:25: notification a has no schedule`},
		"template":          {notify("{type: slack, name: a, config: {hook: 'https://x', channel: c, message: '{{ .Node'}, schedule: {type: oneshot}}"), `4:77: message of notification a: the template is wrong: 1: unclosed action`},
		"field":             {notify("{type: slack, name: a, config: {hook: 'https://x', channel: c, message: '{{ .Nod.Name }}'}, schedule: {type: oneshot}}"), `4:77: message of notification a: rendering the template: 1:7: executing "" at <.Nod.Name>: can't evaluate field Nod in type profile.Message`},
		"hook":              {notify("{type: slack, name: a, config: {hook: secret, channel: c, message: m}, schedule: {type: oneshot}}"), `4:36: notification a: hook is no http or https URL`},
		"mail":              {notify("{type: mail, name: a, config: {address: 'h:25', from: a@example.com, to: [b], subject: s, message: m}, schedule: {type: oneshot}}"), `4:35: notification a: "b" is no mail address`},
		"trigger type":      {trigger("{type: alterHypervisor, name: a}"), `4:12: trigger type alterHypervisor does not exist here: it changes objects of SAP's hypervisor operator`},
		"action":            {trigger("{type: eviction, name: a, config: {action: drian}}"), `4:48: action of trigger a: want one of cordon, uncordon, drain, got "drian"; did you mean "drain"?`},
		"own label":         {trigger("{type: alterLabel, name: a, config: {key: cloud.sap/maintenance-state, value: x}}"), `4:41: trigger a: cloud.sap/maintenance-state has the states of profiles, which triggers must not change`},
		"schedule of other": {trigger("{type: alterLabel, name: a, config: {key: a}, schedule: {type: oneshot}}"), `4:68: trigger a has a schedule, which only notifications have`},
		"environment":       {"intervals: {requeue: 30s}\nprofiles:\n- name: ${NAME}", `3:9: variable NAME of the environment is not set; ${NAME:text} has a default`},
		"YAML":              {"intervals: {requeue: 30s", `1: not YAML: did not find expected ',' or '}'`},
		"comparison":        {check("{type: prometheusInstant, name: a, config: {url: 'http://p', query: up, expr: 'valu < 1'}}"), `4:48: check a: expr "valu < 1" is no comparison of value: unknown name valu (1:1)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(c.text), "maintenance.yaml", Options{Env: none})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff("maintenance.yaml:"+c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllMistakesAreReportedTogether(t *testing.T) {
	_, err := Load([]byte(base+"profiles:\n- name: p\n  operational:\n    notify: x\n    enter: y\n"), "f", Options{Env: none})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestTriggersThatNothingCarriesOutAreRefused(t *testing.T) {
	text := []byte("intervals: {requeue: 30s}\ninstances: {trigger: [{type: reboot, name: a}]}\n")
	if _, err := Load(text, "f", Options{Env: none}); err == nil || err.Error() != "f:2:30: triggers of type reboot are not carried out here" {
		t.Errorf("got %v", err)
	}
	if _, err := Load(text, "f", Options{Env: none, Triggers: []string{"reboot"}}); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "a: #b", "SECONDS": "90", "EMPTY": ""}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		"${TOKEN}": "a: #b", "x${TOKEN}y": "xa: #by", "$TOKEN $": "$TOKEN $", "${NONE:other}": "other", "${EMPTY:other}": "other",
		"${NONE:}": "", "${TOKEN:+set}": "set", "${NONE:+set}": "", "${TOKEN:?no}": "a: #b",
	} {
		if got, err := expand(text, env); err != nil || got != want {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"${NONE:?give it}": "variable NONE of the environment is not set: give it", "${TOKEN": "${TOKEN is not closed with }", "${}": "${} names no variable",
	} {
		if _, err := expand(text, env); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", text, err)
		}
	}
	c, err := Load([]byte("intervals:\n  requeue: ${SECONDS}\nprofiles:\n- name: ${TOKEN:+p}\n"), "f", Options{Env: env})
	if err != nil || c.Interval != 90*time.Second || !c.Has("p") {
		t.Errorf("%+v, %v", c, err)
	}
}
