package control

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/argrule"
	"deployer/engine"
	"deployer/engine/exprarg"
	"deployer/strictyaml"
	"deployer/tasks"
)

// TestEveryArgumentHasARule: each text of each module and action says what it may be, or that
// it is free text, and each number and duration has a range. So a wrong value is found before
// any host is contacted.
func TestEveryArgumentHasARule(t *testing.T) {
	registry := engine.NewRegistry(tasks.Modules(), General(), Actions())
	free := map[string]bool{}
	for _, name := range registry.Names() {
		made := registry[name].New()
		_, validates := made.(engine.Validator)
		ruled(t, name, reflect.TypeOf(made).Elem(), validates, free)
	}
	for _, listed := range freeTexts {
		for _, at := range strings.Fields(listed) {
			if !free[at] {
				t.Errorf("%s is listed as free text, and is no argument with the rule text", at)
			}
			delete(free, at)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(free)) {
		t.Errorf("%s is free text without a reason: give it a rule, or list it in freeTexts", at)
	}
}

// requireKeyRule requires a rule for the keys of a mapping of texts.
func requireKeyRule(t *testing.T, at string, field reflect.StructField) {
	t.Helper()
	keys, isMap := field.Tag.Get("keys"), field.Type.Kind() == reflect.Map && field.Type.Elem().Kind() != reflect.Interface
	switch {
	case isMap && keys == "":
		t.Errorf("%s is a mapping without a rule for its keys", at)
	case keys != "" && (!isMap || !slices.Contains(argrule.Names(), keys)):
		t.Errorf("%s has the rule %q for its keys, which does not exist or has no mapping", at, keys)
	}
}

// TestWrongArgumentsOfActions: grammars of Kubernetes and age, and shares, are checked without a
// host, too.
func TestWrongArgumentsOfActions(t *testing.T) {
	registry := engine.NewRegistry(General(), Actions())
	for args, want := range map[string]string{
		"kube_drain: {pod_selector: 'app in'}":                     "pod_selector \"app in\" is not a selector of labels",
		"kube_drain: {node: N_1}":                                  "node: want the name of a node",
		"kube_drain: {timeout: 0s}":                                "timeout: want at least 1ms",
		"kube_node: {labels: {'a b': c}}":                          "labels: want the key of a label, such as example.org/zone, got the key \"a b\"",
		"kube_node: {labels: {a: 'b c'}}":                          "labels.a: want the value of a label",
		"kube_node: {taints: [{key: /a, effect: NoSchedule}]}":     "taints[0].key: want the key of a label",
		"kube_node: {absent: true, ready: true}":                   "absent excludes labels",
		"kube_rollout: {deployments: [coredns]}":                   "deployments: want an object as namespace/name",
		"kube_rollout: {available: 1.5}":                           "available: want a value from 0 to 1",
		"kube_apply: {}":                                           "write one of manifests with a template, manifests with an artifact, and content",
		"key_backup: {recipients: [age1x]}":                        "is no public key of age or SSH",
		"hook: {}":                                                 "want command or http",
		"hook: {http: {url: 'http://x', status: [20]}}":            "http.status: want a value from 100 to 599",
		"hook: {http: {url: 'http://x', secret_headers: {A: {}}}}": "want file or env",
	} {
		kind, text, _ := strings.Cut(args, ": ")
		node, err := strictyaml.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		into := registry[kind].New()
		if err = strictyaml.Decode("f", node, into); err == nil {
			err = engine.Validate(into)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
	}
}

func ruled(t *testing.T, where string, typ reflect.Type, validates bool, free map[string]bool) {
	t.Helper()
	for i := range typ.NumField() {
		field := typ.Field(i)
		at, rule := where+"."+field.Name, field.Tag.Get("rule")
		requireKeyRule(t, at, field)
		inner := field.Type
		for inner != reflect.TypeFor[exprarg.Conditions]() && slices.Contains([]reflect.Kind{reflect.Slice, reflect.Pointer, reflect.Map}, inner.Kind()) {
			inner = inner.Elem()
		}
		_, decodesItself := reflect.New(inner).Interface().(yaml.Unmarshaler)
		switch {
		case inner == reflect.TypeFor[time.Duration]() || inner.Kind() >= reflect.Int && inner.Kind() <= reflect.Float64:
			if field.Tag.Get("range") == "" {
				t.Errorf("%s is a number without a range", at)
			}
		case inner.Kind() == reflect.Struct && !decodesItself && inner != reflect.TypeFor[yaml.Node]():
			ruled(t, at, inner, validates, free)
		case inner.Kind() != reflect.String || field.Tag.Get("enum") != "":
		case rule == "":
			t.Errorf("%s is a text without a rule; free text has the rule text", at)
		case rule == "text":
			free[at] = true
		case rule == "own" && !validates:
			t.Errorf("%s has the rule own, but the arguments have no method Valid", at)
		case !strings.HasPrefix(rule, "in:") && !slices.Contains(argrule.Names(), rule):
			t.Errorf("%s has the rule %q, which does not exist", at, rule)
		}
	}
}
