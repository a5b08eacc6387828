package fleet

import (
	"fmt"
	"strings"
	"testing"

	"deployer/engine"
)

// wantTree returns the expected files of the i-th host after the site playbook.
func wantTree(f *Fleet, s Site, i int) map[string]string {
	h, vars := f.Hosts[i], s.HostVars[f.Hosts[i].Name]
	index, release, port := vars["index"].(int), s.Vars["release"], s.Vars["port"]
	if own, ok := vars["port"]; ok {
		port = own
	}
	const file = "-rw-r--r-- "
	out := map[string]string{
		"/etc/fleet/conf.d": "drwxr-x---", "/var/lib/fleet/data": "drwxr-x---",
		"/etc/fleet/release":           file + fmt.Sprintf("%s\n", release),
		"/etc/fleet/main.conf":         "-rw-r----- " + fmt.Sprintf("# %s\nrelease = %s\n", h.Name, release),
		"/etc/fleet/peers":             file + peers(f),
		"/var/lib/fleet/logo.bin":      file + "\xff\xfe\x00\x01fleet\x80\n",
		"/etc/motd":                    file + fmt.Sprintf("%s at %s\n", h.Name, h.Address),
		"/etc/fleet/app.yaml":          file + fmt.Sprintf("# made by a test\nlisten: %d\nname: %s\ntags:\n  - a\n  - \"1\"\n", port, h.Name),
		"/etc/fleet/current":           "-> release",
		"/etc/fleet/seen":              file + fmt.Sprintf("%s %d\n", release, len(release.(string))+1),
		"/etc/fleet/conf.d/one.conf":   file + "one = 1\n",
		"/etc/fleet/conf.d/two.conf":   file + "two = 2\n",
		"/etc/fleet/conf.d/three.conf": file + "three = 3\n",
		"/etc/fleet/plan":              file + fmt.Sprintf("of %d\n", len(f.Hosts)),
		"/var/lib/fleet/turn":          file + "begun\n",
		"/var/lib/fleet/data/name":     file + h.Name + "\n",
		"/var/lib/fleet/reloaded":      file + fmt.Sprintf("%s\n", release),
	}
	for _, dir := range []string{"/etc", "/etc/fleet"} { // made with conf.d
		out[dir] = "drwxr-x---"
	}
	for _, dir := range []string{"/var", "/var/lib", "/var/lib/fleet"} { // made with the agent's state before
		out[dir] = "drwxr-xr-x"
	}
	if index%2 == 1 {
		out["/etc/fleet/main.conf"] += "odd = yes\n"
		out["/etc/fleet/odd"] = file + fmt.Sprintf("%d\n", index)
	}
	if index%10 == 0 {
		out["/etc/fleet/instead"] = file + "this host cannot\n"
	}
	stores := f.Hosts[len(f.Hosts)-len(f.Hosts)/5:]
	if index > len(f.Hosts)-len(stores) {
		out["/srv"], out["/srv/store"] = "drwx------", "drwx------"
		out["/srv/store/id"] = file + fmt.Sprintf("%d\n", index)
		return out
	}
	upstreams := ""
	for _, store := range stores {
		upstreams += store.Name + "\n"
	}
	out["/etc/fleet/upstreams"], out["/etc/fleet/prompt"] = file+upstreams+"\n", file
	return out
}

// peers returns the list of all hosts, which is long enough to travel as a blob.
func peers(f *Fleet) string {
	var b strings.Builder
	for _, h := range f.Hosts {
		b.WriteString(h.Name + " " + strings.Repeat("0123456789", 100) + "\n")
	}
	return b.String() + "\n"
}

// firstChanges counts the steps that change something on a new host: 16 of the first
// play and its handler, 2 of the second or third, and the steps with a condition.
func firstChanges(i int) int {
	n := 16 + 1 + 2
	if i%2 == 1 {
		n++
	}
	if i%10 == 0 {
		n++
	}
	return n
}

func noChanges(int) int { return 0 }

// TestConverge checks that the first run sets every host up, that the second finds
// nothing to do, and that a changed value of one host changes one step there.
func TestConverge(t *testing.T) {
	t.Parallel()
	tr := newSiteRuns(t, fleetSize, Options{})
	report, rec := tr.run()
	tr.changed(report, firstChanges)
	tr.trees()
	// Two files of each host travel as blobs, as they are too large for a step or not
	// text.
	if sent := tr.c.Blobs.Sent(); sent != 2*fleetSize {
		t.Errorf("%d blobs were sent, want %d", sent, 2*fleetSize)
	}
	requireOrder(t, rec.all())

	report, rec = tr.run()
	tr.changed(report, noChanges)
	tr.trees()
	if sent := tr.c.Blobs.Sent(); sent != 0 {
		t.Errorf("the second run sent %d blobs", sent)
	}
	for _, e := range rec.all() {
		if e.Type == engine.EventTransfer || e.Name == "reload" {
			t.Errorf("%s in the second run: %s %s", e.Type, e.Host, e.Name)
		}
	}

	tr.site.HostVars["n007"]["port"] = 9090
	report, rec = tr.run()
	tr.changed(report, func(i int) int {
		if i == 7 {
			return 1
		}
		return 0
	})
	for _, e := range rec.all() {
		if e.Type == engine.EventStepEnd && e.Result.Status == engine.StatusChanged && (e.Host != "n007" || e.Name != "application") {
			t.Errorf("changed on %s: %s", e.Host, e.Name)
		}
	}
	tr.trees()
}

// requireOrder checks the order that barrier, run_once, throttle and needs of the
// playbook require.
func requireOrder(t *testing.T, events []engine.Event) {
	t.Helper()
	ended := map[string]int{} // hosts, by step
	inside, most := 0, 0
	for _, e := range events {
		if e.Type != engine.EventStepEnd {
			continue
		}
		ended[e.Name]++
		switch e.Name {
		case "plan":
			if n := ended["part three"]; n != fleetSize {
				t.Errorf("%s passed the barrier when %d of %d hosts had arrived", e.Host, n, fleetSize)
			}
		case "upstreams":
			if n := ended["store"]; n != fleetSize/5 {
				t.Errorf("%s went on when %d of %d stores were ready", e.Host, n, fleetSize/5)
			}
		case "take turn":
			inside++
			most = max(most, inside)
		case "leave turn":
			inside--
		}
	}
	if most > 5 {
		t.Errorf("%d hosts were in the throttled block at once, want at most 5", most)
	}
	for name, want := range map[string]int{"plan": 1, "take turn": fleetSize, "upstreams": fleetSize - fleetSize/5, "part three": fleetSize, "reload": fleetSize} {
		if ended[name] != want {
			t.Errorf("%q ended %d times, want %d", name, ended[name], want)
		}
	}
}
