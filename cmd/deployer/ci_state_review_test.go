package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"deployer/ci/repository"
)

// TestEveryFieldOfAStateIsShown: a person who signs a state sees each field of it, also of a deploy
// that another one has followed.
func TestEveryFieldOfAStateIsShown(t *testing.T) {
	t.Parallel()
	show := func(s repository.ClusterState) string {
		return strings.Join(stateLines(s, func(commit string) string { return "commit " + commit }), "\n")
	}
	state := func(d *repository.Deploying) repository.ClusterState {
		return repository.ClusterState{Verified: []string{"a"}, Deploying: d}
	}
	set := func(field reflect.Value) {
		t.Helper()
		switch v := field.Interface().(type) {
		case string:
			field.SetString("other")
		case []string:
			field.Set(reflect.ValueOf(append(slices.Clone(v), "other")))
		case int:
			field.SetInt(7)
		case bool:
			field.SetBool(true)
		case *repository.Deploying:
			field.Set(reflect.ValueOf(&repository.Deploying{To: "other"}))
		default:
			t.Fatalf("set a value of %v", field.Type())
		}
	}
	for i := range reflect.TypeFor[repository.ClusterState]().NumField() {
		s := state(nil)
		set(reflect.ValueOf(&s).Elem().Field(i))
		if show(s) == show(state(nil)) {
			t.Errorf("%s is not shown", reflect.TypeFor[repository.ClusterState]().Field(i).Name)
		}
	}
	for i := range reflect.TypeFor[repository.Deploying]().NumField() {
		for _, after := range []bool{false, true} {
			plain, changed := &repository.Deploying{}, &repository.Deploying{}
			set(reflect.ValueOf(changed).Elem().Field(i))
			if after {
				plain, changed = &repository.Deploying{After: plain}, &repository.Deploying{After: changed}
			}
			if show(state(plain)) == show(state(changed)) {
				t.Errorf("%s of a deploy is not shown (after another one: %v)", reflect.TypeFor[repository.Deploying]().Field(i).Name, after)
			}
		}
	}
	forged := repository.ClusterState{Approved: "x\x1b[2J\n  verified: commit a", Deploying: &repository.Deploying{Steps: []string{"s\n  verified: b"}, Runs: []string{"r\n"}, Upgrade: []string{"u\x1b"}}}
	if text := show(forged); strings.Contains(text, "\x1b") || strings.Contains(text, "\n  verified: ") {
		t.Errorf("a state writes lines of its own: %q", text)
	}
}
