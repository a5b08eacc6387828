package snapshot

import (
	"strings"
	"testing"
)

// TestBelongs checks that neither etcd cluster gets the data of the other.
func TestBelongs(t *testing.T) {
	for _, c := range []struct {
		name    string
		content Content
		target  string
		refused string // empty: accepted
	}{
		{"events", Content{Keys: 2, Outside: "/registry/events/a/b"}, "etcd-events", ""},
		{"no event yet", Content{}, "etcd-events", ""},
		{"a cluster", Content{Keys: 2, Other: "/registry/secrets/a/b", Outside: "/registry/secrets/a/b"}, "etcd", ""},
		{"events for the cluster", Content{Keys: 2, Outside: "/registry/events/a/b"}, "etcd", "with --events"},
		{"a cluster for events", Content{Keys: 2, Other: "/registry/secrets/a/b", Outside: "/registry/secrets/a/b"}, "etcd-events", "/registry/secrets/a/b"},
		{"Calico", Content{Keys: 2, Other: "/calico/ipam/v2/config"}, "etcd-calico", ""},
		{"a cluster for Calico", Content{Keys: 2, Other: "/registry/secrets/a/b", Outside: "/registry/secrets/a/b"}, "etcd-calico", "/registry/secrets/a/b"},
		{"events for Calico", Content{Keys: 2, Outside: "/registry/events/a/b"}, "etcd-calico", "/registry/events/a/b"},
		{"Calico for the cluster", Content{Keys: 2, Other: "/calico/ipam/v2/config"}, "etcd", "with --calico"},
		{"Calico for events", Content{Keys: 2, Other: "/calico/ipam/v2/config"}, "etcd-events", "with --calico"},
		{"for any", Content{Keys: 2, Other: "/registry/secrets/a/b"}, "", ""},
	} {
		err := c.content.Belongs(c.target)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for key, want := range map[string]bool{"/registry/events/default/a.1": true, "compact_rev_key": true, "/registry/eventsource/a": false, "/registry/pods/a/b": false} {
		if isOfEvents(key) != want {
			t.Errorf("%s: %t", key, !want)
		}
	}
}
