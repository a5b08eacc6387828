package act

import (
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/keeper/decide"
	"deployer/keeper/world"
)

// TestApprove: a request is approved that nobody has decided on, and no other.
func TestApprove(t *testing.T) {
	const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/r1"
	for name, c := range map[string]struct {
		uid    string
		status map[string]any
		want   string // of the error; empty: it is approved
	}{
		"pending": {"u1", nil, ""},
		"another": {"u2", nil, "another one than a moment ago"},
		"denied":  {"u1", map[string]any{"conditions": []any{map[string]any{"type": "Denied", "status": "True"}}}, "somebody has decided"},
	} {
		api, actor := newActor(t, cluster.KeeperPurgeSpec{})
		api.Put(path, map[string]any{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": map[string]any{"name": "r1", "uid": c.uid},
			"spec": map[string]any{"request": "YQ==", "signerName": decide.SignerServing, "usages": []any{"server auth"}, "username": "system:node:n3"}, "status": c.status})
		err := actor.Do(t.Context(), decide.Action{Kind: decide.Approve, Object: decide.Object{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest", Name: "r1", UID: "u1"}, Node: world.Node{Name: "n3"}, Why: "node n3 renews it"})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		status, _ := api.Object(path)["status"].(map[string]any)
		list, _ := status["conditions"].([]any)
		approved := len(list) == 1 && list[0].(map[string]any)["type"] == "Approved" && list[0].(map[string]any)["message"] == "node n3 renews it"
		if approved != (c.want == "") {
			t.Errorf("%s: conditions %v", name, list)
		}
		if spec := api.Object(path)["spec"].(map[string]any); spec["username"] != "system:node:n3" {
			t.Errorf("%s: the request has changed: %v", name, spec)
		}
	}
}
