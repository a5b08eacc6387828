package maintenance

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/keeper/maintenance/profile"
)

const flatcar = "flatcar-linux-update.v1.flatcar-linux.net/"

// updateOperator does what the update agent and the update operator of Flatcar do on a node that has a new version:
// ask for a reboot, reboot when it is allowed, and come back two minutes later.
type updateOperator struct {
	k       *cluster
	down    map[string]time.Time // since when nodes reboot
	reboots []string
	most    int // most nodes that were down at once
}

func (u *updateOperator) step(nodes []string) {
	for _, name := range nodes {
		annotations := u.k.meta(name, "annotations")
		since, down := u.down[name]
		switch {
		case down && u.k.now.Sub(since) >= 2*time.Minute:
			delete(u.down, name)
			u.ready(name, "True")
			u.k.edit(name, "labels", map[string]any{flatcar + "version": "4230.2.0"})
			u.k.edit(name, "annotations", map[string]any{flatcar + "reboot-needed": "false", flatcar + "reboot-in-progress": "false"})
		case !down && annotations[flatcar+"reboot-needed"] == "true" && annotations[flatcar+"reboot-ok"] == "true":
			u.down[name] = u.k.now
			u.reboots = append(u.reboots, fmt.Sprintf("%s at %s", name, u.k.now.Format("15:04")))
			u.most = max(u.most, len(u.down))
			u.ready(name, "Unknown")
			u.k.edit(name, "annotations", map[string]any{flatcar + "reboot-in-progress": "true"})
		}
	}
}

func (u *updateOperator) ready(name, status string) {
	object := u.k.api.Object("/api/v1/nodes/" + name)
	object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Ready", "status": status}}
	u.k.api.Put("/api/v1/nodes/"+name, object)
}

func TestPublishedExampleDrivesAnUpdateOfFlatcar(t *testing.T) {
	text, err := os.ReadFile("profile/testdata/flatcar-kubelet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k := newCluster(t, string(text), nil)
	slack := &slackAPI{}
	k.c.HTTP = &http.Client{Transport: slack}
	nodes := []string{"n1", "n2", "n3"}
	for _, name := range nodes {
		k.addNode(name, profile.ProfileLabel, "flatcar--kubelet", flatcar+"version", "4152.1.0")
		k.edit(name, "annotations", map[string]any{flatcar + "reboot-needed": "true", flatcar + "new-version": "4230.2.0"})
	}
	k.addNode("master")
	operator := &updateOperator{k: k, down: map[string]time.Time{}}
	for range 40 {
		k.passes(1)
		operator.step(nodes)
	}
	// Required at 12:00. The first node goes at 12:01; the lease of 8m ends after 12:09, so the next goes at 12:10.
	want := []string{"n1 at 12:02", "n2 at 12:11", "n3 at 12:20"}
	if !slices.Equal(operator.reboots, want) || operator.most != 1 {
		t.Errorf("reboots %q, at most %d at once; want %q", operator.reboots, operator.most, want)
	}
	for _, name := range nodes {
		annotations, labels := k.meta(name, "annotations"), k.meta(name, "labels")
		if k.state(name, "flatcar") != profile.Operational || k.state(name, "kubelet") != profile.Operational || labels[profile.StateLabel] != "operational" {
			t.Errorf("%s: %v, %v", name, annotations, labels)
		}
		if _, left := annotations[flatcar+"reboot-ok"]; left {
			t.Errorf("%s keeps reboot-ok", name)
		}
	}
	if k.state("master", profile.DefaultProfile) != profile.Operational {
		t.Error("the master has no state")
	}
	if lease := k.lease("maintenance-controller-stagger-0"); lease["holderIdentity"] != "n3" || lease["leaseDurationSeconds"] != float64(480) {
		t.Errorf("lease %v", lease)
	}
	// One thread for all: a title, and a reply for each node.
	if len(slack.messages) != 4 || slack.messages[0]["text"] != "Updating the operating system of nodes." || slack.messages[0]["channel"] != "#channel" {
		t.Fatalf("%d messages: %v", len(slack.messages), slack.messages)
	}
	for i, m := range slack.messages[1:] {
		if m["thread_ts"] != "1.1" || m["text"] != nodes[i]+" will reboot now to update Flatcar Linux from version 4152.1.0 to version 4230.2.0" {
			t.Errorf("message %d: %v", i, m)
		}
	}
	if lease := k.lease("maintenance-controller-flatcar"); lease["holderIdentity"] != "1.1" || lease["leaseDurationSeconds"] != float64(12*3600) {
		t.Errorf("lease of the thread: %v", lease)
	}
	if transitions := slices.DeleteFunc(slices.Clone(k.events), func(e string) bool { return !strings.Contains(e, " -> ") }); len(transitions) != 9 || transitions[3] != "node n1, profile flatcar: maintenance-required -> in-maintenance" {
		t.Errorf("%d transitions: %q", len(transitions), transitions)
	}
}

func TestNothingIsWrittenWhileNothingHappens(t *testing.T) {
	text, err := os.ReadFile("profile/testdata/flatcar-kubelet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k := newCluster(t, string(text), nil)
	for i := range 45 { // three pages
		k.addNode(fmt.Sprintf("n%02d", i), profile.ProfileLabel, "flatcar--kubelet")
	}
	k.passes(1)
	if n := len(k.api.Writes()); n != 45 {
		t.Errorf("%d writes for the states of 45 nodes", n)
	}
	requests := len(k.api.Requests())
	k.passes(5)
	if n := len(k.api.Writes()); n != 45 {
		t.Errorf("%d writes after passes without a reason: %q", n-45, k.api.Writes()[45:])
	}
	if n := len(k.api.Requests()) - requests; n != 15 {
		t.Errorf("%d requests in 5 passes over 45 nodes, want 3 pages each", n)
	}
}
