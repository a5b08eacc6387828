package history

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
)

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		call  journal.Invocation
		given map[string]any
		want  string
	}{
		{call: journal.Invocation{Verb: "install"}},
		{call: journal.Invocation{Verb: "install", Limit: "web", Tags: []string{"x"}, SkipTags: []string{"y", "z"}, StartAt: "the last"}, want: `--limit web; --tags x; --skip-tags y,z; --start-at "the last"`},
		{call: journal.Invocation{Verb: "run", Playbook: "/site.yaml", Forks: 7}, want: "--forks 7"},
		{call: journal.Invocation{Verb: "install", Extra: map[string]any{"new_encryption_key": false, "other": true}}, want: "-e other=true"},
		{call: journal.Invocation{Verb: "install", Extra: map[string]any{"firewall": false}}, want: "-e firewall=false"},
		{call: journal.Invocation{Verb: "run", Playbook: "/site.yaml", Extra: map[string]any{"careful": false}}, want: "-e careful=false"},
		{call: journal.Invocation{Verb: "run", Extra: map[string]any{"b": 1.0, "a": "x"}}, want: "-e a=x; -e b=1"},
		{call: journal.Invocation{Verb: "run", Extra: map[string]any{"b": 1.0, "a": "x"}}, given: map[string]any{"a": "x", "b": 2}, want: "-e b=1"},
		{call: journal.Invocation{Verb: "run", Extra: map[string]any{"b": 1.0}}, given: map[string]any{"b": "1"}, want: "-e b=1"},
		{call: journal.Invocation{Verb: "run", Extra: map[string]any{"key\nb": "two\nROWS", "c": map[string]any{"d": []any{1.0}}}}, want: `-e c={"d":[1]}; -e "key\nb"="two\nROWS"`},
		{call: journal.Invocation{Verb: "revert", Reverts: "r1", Force: true, AllowChangedPlaybook: true}, want: "it reverts run r1; --force; --allow-changed-playbook"},
		{call: journal.Invocation{Verb: "revert", Reverts: "r1", LowerMinor: true}, want: "it reverts run r1; --lower-minor"},
		{call: journal.Invocation{Verb: "upgrade", Kubernetes: "v1.36.3"}, want: "it is deployer upgrade; --to v1.36.3"},
		{call: journal.Invocation{Verb: "etcd-restore", Extra: map[string]any{"etcd_restore_id": "1"}}, want: "it is deployer etcd-restore; -e etcd_restore_id=1; it accepts a backup that nothing proves to be the cluster's (no etcd_restore_unauthenticated); it accepts any content of the snapshot (no etcd_restore_sha256)"},
		{call: journal.Invocation{Verb: "etcd-restore", Extra: map[string]any{"etcd_restore_unauthenticated": false, "etcd_restore_sha256": "0a"}}, want: "it is deployer etcd-restore; -e etcd_restore_sha256=0a; -e etcd_restore_unauthenticated=false"},
		{call: journal.Invocation{Verb: "etcd-restore-hosts", Extra: map[string]any{"etcd_restore_unauthenticated": false}}, given: map[string]any{"etcd_restore_sha256": "0a"},
			want: "it is deployer etcd-restore-hosts; -e etcd_restore_unauthenticated=false; it takes the keys for the user's own, not for those of a store (no etcd_restore_keys_stored); it accepts any file with keys (no etcd_restore_keys_sha256)"},
		{call: journal.Invocation{Verb: "scale-down", Leaving: []string{"m1", "m2"}, Dead: []string{"m2"}}, want: "it is deployer scale-down; leaving: m1, m2; dead: m2"},
	} {
		e := &Entry{Record: &journal.Record{Header: journal.Header{Invocation: c.call}}}
		if diff := cmp.Diff(c.want, strings.Join(e.Claims(c.given), "; ")); diff != "" {
			t.Errorf("%+v: %s", c.call, diff)
		}
	}
}

// TestEveryFieldIsAClaim checks that no field of an invocation that changes what a run does is
// hidden from the person who confirms the record of a host.
func TestEveryFieldIsAClaim(t *testing.T) {
	t.Parallel()
	unclaimed := map[string]string{
		"Playbook": "the user names it", "Inventory": "the user names it", "LockHosts": "Relocate drops it",
		"Withheld": "the user gives the values", "Prompted": "the user gives the values",
		"Verb": "TestClaims has other verbs", "Reverts": "it means something for the verb revert only, see TestClaims",
	}
	fields := reflect.TypeFor[journal.Invocation]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		call := journal.Invocation{Verb: "install"}
		switch field := reflect.ValueOf(&call).Elem().Field(i); field.Interface().(type) {
		case string:
			field.SetString("x")
		case []string:
			field.Set(reflect.ValueOf([]string{"x"}))
		case map[string]any:
			field.Set(reflect.ValueOf(map[string]any{"x": 1}))
		case bool:
			field.SetBool(true)
		case int:
			field.SetInt(1)
		default:
			t.Fatalf("%s: set a value of %v", name, field.Type())
		}
		e := &Entry{Record: &journal.Record{Header: journal.Header{Invocation: call}}}
		if got := e.Claims(nil); unclaimed[name] == "" && len(got) == 0 {
			t.Errorf("a record may set %s of an install, and nobody sees it", name)
		}
	}
}

// TestPausesAreClaims checks that a record cannot say unseen that a rollout has paused: the
// resumed run would pass the pause.
func TestPausesAreClaims(t *testing.T) {
	e := &Entry{Record: &journal.Record{Header: journal.Header{Invocation: journal.Invocation{Verb: "run"}}, Report: &engine.Report{Paused: []string{"kubelets"}}}}
	if got := strings.Join(e.Claims(nil), ""); !strings.Contains(got, "paused after the canaries of kubelets") {
		t.Errorf("claims %q", got)
	}
}

// TestOriginalClaims checks that a revert shows the variables of the run that it reverts,
// except those that its own record has.
func TestOriginalClaims(t *testing.T) {
	e := &Entry{Record: &journal.Record{Header: journal.Header{Invocation: journal.Invocation{Verb: "upgrade", Kubernetes: "v1.36.3", Limit: "m1", Extra: map[string]any{"a": "x", "b": 1.0}}}}}
	if got := strings.Join(e.OriginalClaims(map[string]any{"a": "x"}), "; "); got != "-e b=1; --to v1.36.3" {
		t.Errorf("claims %q", got)
	}
}
