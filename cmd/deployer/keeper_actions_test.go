package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"deployer/runs"
)

// TestKeeperActions: what keepers did is read from their hosts, without an API, newest first, and whatever a host
// writes does no harm.
func TestKeeperActions(t *testing.T) {
	c := newCertifiedSite(t)
	inventory, err := os.ReadFile("inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	none, _ := c.deployer(exitOK, "runs", "keeper", "-o", "json")
	if strings.TrimSpace(none) != "[]" {
		t.Errorf("a cluster without keepers: %s", none)
	}
	c.write("inventory.yaml", strings.Replace(string(inventory), "cluster:\n", "cluster:\n    keeper: {enabled: true}\n", 1))
	line := func(minute int, object, why string) string {
		text, err := json.Marshal(map[string]any{"time": fmt.Sprintf("2026-11-28T03:%02d:00.5Z", minute), "action": "PurgeNode", "object": object, "why": why, "result": "done"})
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	const file = "var/lib/deployer/keeper-actions.jsonl"
	c.writeHostFile(0, file+".1", line(1, "Node n1", "long ago"))
	c.writeHostFile(0, file, line(2, "Node n2", "\x1b[31mred\x1b[0m\nfake row")+line(3, "Node n3", strings.Repeat("x", 5000))+`{"time":"2026-11`)
	master := c.fleet.Hosts[0].Name

	out, _ := c.deployer(exitOK, "runs", "keeper", "-n", "2", "-o", "json")
	var got []runs.KeeperAction
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	if got[0].Object != "Node n3" || got[0].Host != master || len(got[0].Why) > 400 || got[1].Object != "Node n2" || got[1].Why != "red" {
		t.Errorf("%+v", got)
	}
	out, _ = c.deployer(exitOK, "runs", "keeper")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	if len(rows) != 4 || !strings.Contains(rows[3], "Node n1") || !strings.Contains(rows[3], "long ago") {
		t.Errorf("%d rows:\n%s", len(rows), out)
	}
	out, _ = c.deployer(exitOK, "runs", "list", "--from-hosts")
	requireTexts(t, out, "RUN", "KEEPER", "Node n3")
	c.fleet.Hosts[0].Stop()
	_, stderr := c.deployer(exitFailed, "runs", "keeper")
	requireTexts(t, stderr, "actions of the keeper of "+master)
}
