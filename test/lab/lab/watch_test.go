//go:build lab

package lab_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"deployer/test/lab/plan"
)

// TestWatch: a host that reboots itself is up again with its files; a host that was
// shut down and one that was killed stay down.
func TestWatch(t *testing.T) {
	l := up(t, plan.Spec{Name: "watchtest", Hosts: 3})
	ctx, stop := context.WithCancel(t.Context())
	texts, ended := make(chan string, 16), make(chan struct{})
	go func() {
		defer close(ended)
		l.Watch(ctx, func(text string) { texts <- text })
	}()
	before := shell(t, l, "h1", "touch /srv/here; cat /proc/sys/kernel/random/boot_id")
	_, _ = l.SSH(t.Context(), "h2", "systemctl poweroff")
	if err := l.Kill(t.Context(), "h3"); err != nil {
		t.Fatal(err)
	}
	_, _ = l.SSH(t.Context(), "h1", "systemctl reboot") // the connection ends with it
	select {
	case text := <-texts:
		if text != "h1 has rebooted itself" {
			t.Errorf("watch reported %q", text)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody says that h1 has rebooted itself")
	}
	if after := shell(t, l, "h1", "test -e /srv/here && cat /proc/sys/kernel/random/boot_id"); after == before || len(strings.TrimSpace(after)) != 36 {
		t.Errorf("boot id %q, before %q", after, before)
	}
	stop()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on after its end")
	}
	for _, host := range []string{"h2", "h3"} {
		if _, err := l.SSH(t.Context(), host, "true"); err == nil {
			t.Errorf("%s is up again", host)
		}
	}
	if len(texts) > 0 {
		t.Errorf("watch reported %q", <-texts)
	}
}
