package etcd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestReplacement decides about members that are broken, removed, or must stay.
func TestReplacement(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*fake)
		host   string
		want   engine.Output
		wrong  string
	}{
		"its data is damaged": {func(f *fake) { f.up["m3"] = false }, "m3",
			engine.Output{"remove_id": "3", "serves": false, "learner": false, "archive": true, "others": []any{"m1", "m2"}}, ""},
		"removed by hand": {func(f *fake) { f.up["m3"], f.entries = false, f.entries[:2] }, "m3",
			engine.Output{"remove_id": "", "serves": false, "learner": false, "archive": true, "others": []any{"m1", "m2"}}, ""},
		"a learner that hangs": {func(f *fake) { f.entries[2].Learner = true }, "m3",
			engine.Output{"remove_id": "3", "serves": true, "learner": true, "archive": true, "others": []any{"m1", "m2"}}, ""},
		"another member is down":   {func(f *fake) { f.up["m2"] = false }, "m3", nil, "the etcd member of m3 is not replaced: member m2 does not serve"},
		"the majority is down":     {func(f *fake) { f.up["m1"], f.up["m2"] = false, false }, "m3", nil, "no majority"},
		"its data is not examined": {func(*fake) {}, "m2", nil, `m2 did not report whether etcd has data ("found")`},
		"another host is down":     {nil, "m3", nil, "etcd host m2 cannot be reached"},
	} {
		f := newFake("m1", "m2", "m3")
		s := run(t, f, tt.host, map[string]bool{"m3": true})
		if tt.change != nil {
			tt.change(f)
		} else {
			s.Hosts = []string{"m1", "m3"}
		}
		got, err := (&Replacement{Found: "found"}).Check(t.Context(), s)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: error %v, want %q", name, err, tt.wrong)
		}
		if diff := cmp.Diff(tt.want, got.Output); diff != "" || got.Needed {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestStatesHaveTheMemberList: the state of a host's member has its entry in the list, a
// host without an entry has none, and a member of no host is among the others.
func TestStatesHaveTheMemberList(t *testing.T) {
	f := newFake("m1", "m2", "m9")
	hosts := hostsOf("m1", "m2", "m3")
	s := Take(t.Context(), f.open, hosts)
	states, others := s.States(hosts), s.OtherStates(hosts)
	if m := states[1]; !m.Listed || m.ID != "2" || m.Member != "m2" || !cmp.Equal(m.PeerURLs, []string{peer("m2")}) {
		t.Errorf("m2: %+v", m)
	}
	if m := states[2]; m.Listed || m.ID != "" || m.Answers {
		t.Errorf("m3: %+v", m)
	}
	if len(others) != 1 || others[0].Member != "m9" || others[0].Host != "" || !others[0].Serves {
		t.Errorf("others: %+v", others)
	}
	var found []string
	for _, r := range Rows(t.Context(), f.open, "", hosts) {
		if r.Host == "m3" {
			found = append(found, r.Detail, r.Fix)
		}
	}
	if len(found) != 2 || !strings.Contains(found[0], "lists no member for this host") || !strings.Contains(found[1], "deployer etcd replace m3") {
		t.Errorf("rows of m3: %q", found)
	}
}
