package tasks

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/command"
	"deployer/tasks/control"
	"deployer/tasks/control/kube"
	"deployer/tasks/staticpod"
	"deployer/tasks/unit"
	"deployer/tasks/wait"
)

// TestGatesAndReadOnlyTasks lists the kinds that a revert repeats, and the kinds that
// change nothing.
func TestGatesAndReadOnlyTasks(t *testing.T) {
	t.Parallel()
	var gates, readOnly []string
	for _, k := range slices.Concat(Modules(), control.General(), control.Actions()) {
		if _, ok := k.New().(engine.ReadinessGate); ok {
			gates = append(gates, k.Name)
		}
		if l, ok := k.New().(engine.ReadOnlyTask); ok && l.ReadOnly() {
			readOnly = append(readOnly, k.Name)
		}
	}
	slices.Sort(gates)
	slices.Sort(readOnly)
	want := []string{"bird_ready", "certificates_served", "command", "dns_answers", "etcd_healthy", "kube_node", "kube_ready", "kube_rollout", "kube_uncordon", "kubelet_ready", "leader_watches", "nodes_ready", "pods_ended", "proxy_ready", "runtime_ready", "script", "service", "shell", "static_pod_ready", "static_pod_reload", "unit", "wait_for"}
	if diff := cmp.Diff(want, gates); diff != "" {
		t.Error(diff)
	}
	want = []string{"backup_mac_key", "bgp_transition", "bird_status", "ca_load", "ca_read", "ca_rotate", "calico_sessions", "component_versions", "departure_report", "disk_space", "dns_cache_users", "encryption_key", "etcd_addresses", "etcd_may_restart", "etcd_members", "etcd_newest_snapshot", "etcd_plan", "etcd_replacement", "etcd_restore_revision", "etcd_revision", "external_authorities", "external_certificates", "keeper_actions", "keeper_state", "key_backup", "key_backup_read", "key_digests", "kube_version", "network_objects", "network_state", "plugin_change", "pod_cidrs", "pod_mtu", "pod_network", "read", "read_part", "running_settings", "set", "snapshot_check", "snapshot_mac", "snapshot_macs", "stat", "survey_cluster", "unchanged_cluster", "unchanged_versions", "unit_process"}
	if diff := cmp.Diff(want, readOnly); diff != "" {
		t.Error(diff)
	}
}

func TestGateOfEachTask(t *testing.T) {
	t.Parallel()
	tests := []struct{ task, gate any }{
		{&command.Command{Argv: []string{"x"}}, nil},
		{&command.Shell{Cmd: "x", ReadOnly: true}, &command.Shell{Cmd: "x", ReadOnly: true}},
		{&wait.Condition{Port: 80}, &wait.Condition{Port: 80}},
		{&staticpod.Ready{Manifest: "/m"}, &staticpod.Ready{Manifest: "/m", MissingOK: true}},
		{&staticpod.Reload{Manifest: "/m", Signal: "USR2"}, &staticpod.Reload{Manifest: "/m", Signal: "USR2", MissingOK: true}},
		{&kube.Node{Labels: map[string]string{"a": "b"}}, nil},
		{&kube.Node{Labels: map[string]string{"a": "b"}, Ready: true}, &kube.Node{Ready: true}},
		{&unit.Unit{Name: "x.service", State: "reloaded"}, &unit.Unit{Name: "x.service", State: "reloaded", OnlyIfUp: true}},
	}
	for _, tt := range tests {
		got := tt.task.(engine.ReadinessGate).Gate()
		if diff := cmp.Diff(tt.gate, got); diff != "" {
			t.Errorf("%T: %s", tt.task, diff)
		}
		if got != nil && reflect.TypeOf(got) != reflect.TypeOf(tt.task) {
			t.Errorf("the gate of %T is a %T, which is sent under another name", tt.task, got)
		}
	}
}
