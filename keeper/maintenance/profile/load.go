package profile

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Options are what a file may use.
type Options struct {
	// Env returns variables for ${NAME}.
	Env func(name string) (string, bool)
	// Triggers are the types of triggers that the program around carries out, of reboot and playbook. Others are an
	// error, because the program could not act when it is time.
	Triggers []string
}

// Load reads a file of profiles and checks all of it, so that a file with a mistake never acts. The error, of type
// strictyaml.Errors, has all mistakes with their places in source.
func Load(data []byte, source string, o Options) (*Config, error) {
	root, err := Parse(data, source, o.Env)
	if err != nil {
		return nil, err
	}
	var f file
	if err := strictyaml.Decode(source, root, &f); err != nil {
		return nil, err
	}
	l := &loader{source: source, external: o.Triggers}
	config := &Config{Source: source, Interval: time.Duration(f.Intervals.Requeue), profiles: map[string]*profile{}}
	if config.Interval < time.Second {
		l.fail(strictyaml.Pos{File: source}, "intervals.requeue must be at least 1s")
	}
	l.instances(&f.Instances)
	for i := range f.Profiles {
		l.profile(config, &f.Profiles[i])
	}
	if !config.Has(DefaultProfile) {
		config.profiles[DefaultProfile] = emptyProfile(DefaultProfile)
	}
	for key, n := range map[string]*yaml.Node{"intervals.notify": f.Intervals.Notify, "dashboard": f.Dashboard} {
		if n != nil {
			config.Notes = append(config.Notes, fmt.Sprintf("%s: %s has no effect", strictyaml.At(source, n), key))
		}
	}
	slices.Sort(config.Notes)
	if err := strictyaml.Join(l.errs...); err != nil {
		return nil, err
	}
	return config, nil
}

// Parse reads YAML and replaces ${NAME} in its values.
func Parse(data []byte, source string, env func(string) (string, bool)) (*yaml.Node, error) {
	root, err := strictyaml.Parse(source, data)
	if err != nil {
		return nil, err
	}
	return root, expandEnvironment(source, root, env)
}

func emptyProfile(name string) *profile {
	p := &profile{name: name, states: map[State]*stateRules{}}
	for _, s := range States() {
		p.states[s] = &stateRules{}
	}
	return p
}

// loader collects the instances of a file and its mistakes.
type loader struct {
	source   string
	external []string
	checks   map[string]*Check
	notify   map[string]*Notifier
	triggers map[string]*Trigger
	errs     []error
}

func (l *loader) fail(at strictyaml.Pos, format string, args ...any) {
	l.errs = append(l.errs, at.Errorf(format, args...))
}

// validator is a configuration with rules over more than one key.
type validator interface{ validate() error }

func (l *loader) instances(in *instances) {
	l.checks, l.notify, l.triggers = map[string]*Check{}, map[string]*Notifier{}, map[string]*Trigger{}
	for i := range in.Check {
		l.check(&in.Check[i])
	}
	for i := range in.Notify {
		l.notifier(&in.Notify[i])
	}
	for i := range in.Trigger {
		l.trigger(&in.Trigger[i])
	}
}

func (l *loader) check(in *instance) {
	of := newCheck(in.Type.value)
	if of == nil {
		l.unknownType(in, "check", checkTypes)
	}
	if l.named(in, "check", l.checks[in.Name.value] != nil) && of != nil {
		l.config(in.Type, &in.Config, in.what("check"), of)
	}
	l.checks[in.Name.value] = &Check{Name: in.Name.value, Type: in.Type.value, of: of}
	l.withoutSchedule(in, "check")
}

func (l *loader) trigger(in *instance) {
	of := newTrigger(in.Type.value)
	switch {
	case of == nil:
		l.unknownType(in, "trigger", triggerTypes)
	case slices.Contains(external, in.Type.value) && !slices.Contains(l.external, in.Type.value):
		l.fail(in.Type.at(l.source, 0), "triggers of type %s are not carried out here", in.Type.value)
	}
	if l.named(in, "trigger", l.triggers[in.Name.value] != nil) && of != nil {
		l.config(in.Type, &in.Config, in.what("trigger"), of)
	}
	if made, ok := of.(interface{ of() any }); ok {
		of = made.of()
	}
	l.triggers[in.Name.value] = &Trigger{Name: in.Name.value, Type: in.Type.value, Of: of}
	l.withoutSchedule(in, "trigger")
}

func (l *loader) notifier(in *instance) {
	to := newNotifier(in.Type.value)
	if to == nil {
		l.unknownType(in, "notification", notifierTypes)
	}
	if l.named(in, "notification", l.notify[in.Name.value] != nil) && to != nil {
		l.config(in.Type, &in.Config, in.what("notification"), to)
	}
	l.notify[in.Name.value] = &Notifier{Name: in.Name.value, Type: in.Type.value, To: to, Schedule: l.schedule(in)}
}

func (l *loader) schedule(in *instance) Schedule {
	if in.Schedule == nil {
		l.fail(in.Name.at(l.source, 0), "notification %s has no schedule", in.Name.value)
		return nil
	}
	s := newSchedule(in.Schedule.Type.value)
	if s == nil {
		kind := in.Schedule.Type.value
		l.fail(in.Schedule.Type.at(l.source, 0), "there is no schedule %q%s", kind, strictyaml.DidYouMean(kind, scheduleTypes))
		return nil
	}
	l.config(in.Schedule.Type, &in.Schedule.Config, "the schedule of "+in.what("notification"), s)
	return s
}

func (in *instance) what(kind string) string { return kind + " " + in.Name.value }

// named checks the name of an instance, and reports whether it is usable.
func (l *loader) named(in *instance, kind string, twice bool) bool {
	name := in.Name.value
	switch {
	case name == "" || strings.ContainsAny(name, operators+" \t\r\n"):
		l.fail(in.Name.at(l.source, 0), "%q is not a name for a %s: want letters, digits, _ and -", name, kind)
	case twice:
		l.fail(in.Name.at(l.source, 0), "there are two %ss with the name %s", kind, name)
	default:
		return true
	}
	return false
}

func (l *loader) withoutSchedule(in *instance, kind string) {
	if in.Schedule != nil {
		l.fail(in.Schedule.Type.at(l.source, 0), "%s %s has a schedule, which only notifications have", kind, in.Name.value)
	}
}

// sapOnly maps types of maintenance-controller for SAP's own systems to what to use instead.
var sapOnly = map[string]string{
	"kubernikusCount":     "it asks SAP's Kubernikus API; nodeCount compares with a number",
	"checkHypervisor":     "it reads objects of SAP's hypervisor operator",
	"hypervisorCondition": "it reads objects of SAP's hypervisor operator",
	"alterHypervisor":     "it changes objects of SAP's hypervisor operator",
}

func (l *loader) unknownType(in *instance, kind string, known []string) {
	at, name := in.Type.at(l.source, 0), in.Type.value
	if why := sapOnly[name]; why != "" {
		l.fail(at, "%s type %s does not exist here: %s", kind, name, why)
		return
	}
	l.fail(at, "there is no %s type %q%s", kind, name, strictyaml.DidYouMean(name, known))
}

// config decodes the settings of an instance and checks them. Settings that are missing are checked as empty ones, at
// the place of the type.
func (l *loader) config(kind text, n *yaml.Node, what string, into any) {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: kind.node.Line, Column: kind.node.Column}
	}
	if err := strictyaml.DecodeAs(l.source, what, n, into); err != nil {
		l.errs = append(l.errs, err)
		return
	}
	if key := emptyKey(into); key != "" {
		l.fail(strictyaml.At(l.source, n), "%s: %s is empty", what, key)
		return
	}
	if v, ok := into.(validator); ok {
		if err := v.validate(); err != nil {
			l.fail(strictyaml.At(l.source, n), "%s: %v", what, err)
		}
	}
}

// emptyKey returns a required key whose text or list is empty; else "".
func emptyKey(of any) string {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Tag.Get("required") != "true" {
			continue
		}
		if kind := f.Type.Kind(); (kind == reflect.String || kind == reflect.Slice) && v.Field(i).Len() == 0 {
			return f.Tag.Get("yaml")
		}
	}
	return ""
}

func (l *loader) profile(config *Config, in *profileFile) {
	name, at := in.Name.value, in.Name.at(l.source, 0)
	switch {
	case name == "" || strings.Contains(name, separator):
		l.fail(at, "%q is not a name for a profile: the label of nodes joins names with %s", name, separator)
		return
	case config.Has(name):
		l.fail(at, "there are two profiles with the name %s", name)
		return
	}
	p := emptyProfile(name)
	config.profiles[name] = p
	for _, s := range States() {
		from := in.of(s)
		p.states[s] = &stateRules{enter: l.triggersOf(from.Enter), notify: l.notifiersOf(from.Notify)}
		for i := range from.Transitions {
			if t, ok := l.transition(s, &from.Transitions[i]); ok {
				p.states[s].transitions = append(p.states[s].transitions, t)
			}
		}
	}
}

func (l *loader) transition(from State, in *transitionFile) (transition, bool) {
	t := transition{checks: map[string]*Check{}, do: l.triggersOf(in.Trigger), next: State(in.Next.value)}
	if err := t.next.check(); err != nil {
		l.fail(in.Next.at(l.source, 0), "next: %v", err)
	} else if t.next == from {
		l.fail(in.Next.at(l.source, 0), "next: the node is in the state %s already, so the transition would do nothing", from)
	}
	var err error
	if t.when, err = ParseExpression(in.Check.value); err != nil {
		l.syntax(in.Check, "check", err)
		return t, false
	}
	for _, r := range t.when.refs {
		check := l.checks[r.name]
		switch {
		case check == nil:
			l.fail(in.Check.at(l.source, r.offset), "there is no check %q%s", r.name, strictyaml.DidYouMean(r.name, slices.Collect(maps.Keys(l.checks))))
		case check.Type == "affinity" && from != Required:
			l.fail(in.Check.at(l.source, r.offset), "check %s of type affinity works in the state %s only", r.name, Required)
		}
		t.checks[r.name] = check
	}
	return t, true
}

func (l *loader) syntax(in text, what string, err error) {
	offset := 0
	if s, ok := errors.AsType[*syntaxError](err); ok {
		offset = s.offset
	}
	l.fail(in.at(l.source, offset), "%s: %v", what, err)
}

func (l *loader) triggersOf(in text) []*Trigger { return find(l, in, "trigger", l.triggers) }

func (l *loader) notifiersOf(in text) []*Notifier { return find(l, in, "notification", l.notify) }

// find returns the instances of a list of names.
func find[T any](l *loader, in text, kind string, known map[string]*T) []*T {
	refs, err := parseList(in.value, kind)
	if err != nil {
		l.syntax(in, kind, err)
	}
	var out []*T
	for _, r := range refs {
		if known[r.name] == nil {
			l.fail(in.at(l.source, r.offset), "there is no %s %q%s", kind, r.name, strictyaml.DidYouMean(r.name, slices.Collect(maps.Keys(known))))
			continue
		}
		out = append(out, known[r.name])
	}
	return out
}
