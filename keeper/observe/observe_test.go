package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/keeper/world"
)

// TestReach: a host that refuses a connection lives.
func TestReach(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		err     error
		want    world.Reach
	}{
		"accepts":     {"10.0.0.1", nil, world.Answers},
		"refuses":     {"10.0.0.1", fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED), world.Answers},
		"resets":      {"10.0.0.1", &net.OpError{Op: "dial", Err: syscall.ECONNRESET}, world.Answers},
		"is silent":   {"10.0.0.1", context.DeadlineExceeded, world.Silent},
		"no route":    {"10.0.0.1", fmt.Errorf("dial tcp: %w", syscall.EHOSTUNREACH), world.Silent},
		"no address":  {"", nil, world.NotTried},
		"another one": {"fd00::1", errors.New("dial tcp [fd00::1]:10250: i/o timeout"), world.Silent},
	} {
		nodes := []world.Node{{Name: "n1", Address: c.address}}
		dialled := ""
		Reach(t.Context(), func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = address
			if c.err != nil {
				return nil, c.err
			}
			one, other := net.Pipe()
			return one, other.Close()
		}, nodes)
		if nodes[0].Reach != c.want {
			t.Errorf("%s: %d, want %d", name, nodes[0].Reach, c.want)
		}
		if want := net.JoinHostPort(c.address, "10250"); c.address != "" && dialled != want {
			t.Errorf("%s: dialled %s, want %s", name, dialled, want)
		}
	}
}

// TestDeleted: the API has the end of the grace period, the rules want its begin.
func TestDeleted(t *testing.T) {
	asked := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	grace := int64(300)
	end := v1.NewTime(asked.Add(5 * time.Minute))
	got := readPod(&corev1.Pod{ObjectMeta: v1.ObjectMeta{Name: "p", DeletionTimestamp: &end, DeletionGracePeriodSeconds: &grace}})
	if !got.Deleted.Equal(asked) {
		t.Errorf("deleted at %s, want %s", got.Deleted, asked)
	}
	if got := readPod(&corev1.Pod{}); !got.Deleted.IsZero() {
		t.Errorf("a pod that nobody has deleted was deleted at %s", got.Deleted)
	}
}

func TestMaintenanceOf(t *testing.T) {
	until := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	mark := maintenanceOf(`{"until": "2026-11-28T03:00:00Z", "by": "ann@desk", "reason": "disks"}`)
	if !mark.Active(until.Add(-time.Second)) || mark.Active(until) || mark.By != "ann@desk" {
		t.Errorf("%+v", mark)
	}
	for _, text := range []string{"", "tomorrow", `{"until": "soon"}`} {
		if mark := maintenanceOf(text); mark.Active(until) {
			t.Errorf("%q is the mark %+v", text, mark)
		}
	}
}

func TestMerged(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"replicas": int64(3), "list": []any{int64(1), map[string]any{"a": "b"}}, "name": "x"}}
	for name, c := range map[string]struct {
		patch map[string]any
		want  bool
	}{
		"equal":             {map[string]any{"spec": map[string]any{"replicas": 3, "name": "x"}}, true},
		"nothing":           {nil, true},
		"another number":    {map[string]any{"spec": map[string]any{"replicas": 4}}, false},
		"a new key":         {map[string]any{"spec": map[string]any{"paused": true}}, false},
		"an equal list":     {map[string]any{"spec": map[string]any{"list": []any{1, map[string]any{"a": "b"}}}}, true},
		"a shorter list":    {map[string]any{"spec": map[string]any{"list": []any{1}}}, false},
		"removed, and gone": {map[string]any{"spec": map[string]any{"paused": nil}}, true},
		"removed, and here": {map[string]any{"spec": map[string]any{"name": nil}}, false},
		"a map for a text":  {map[string]any{"spec": map[string]any{"name": map[string]any{"a": "b"}}}, false},
	} {
		if got := merged(object, c.patch); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
