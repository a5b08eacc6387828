package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/keeper/world"
)

// clients are the users whose certificates the nodes of these tests have.
var clients = []world.Client{{CN: "system:kube-proxy"}, {CN: "deployer:calico-node"}}

// ofKubelet returns the request of the kubelet of a node for the certificate that it serves now.
func ofKubelet(node string) world.CertificateRequest {
	cn := "system:node:" + node
	names, ips := []string{node, "localhost"}, []string{"10.0.0.1", "127.0.0.1"}
	return world.CertificateRequest{
		Name: "deployer-" + node, UID: "uid-" + node, Signer: SignerServing, User: cn, Groups: []string{"system:nodes", "system:authenticated"},
		Usages: []string{"digital signature", "server auth"}, Created: now.Add(-time.Minute), CN: cn, Orgs: []string{"system:nodes"}, DNS: names, IPs: ips,
		Serving: &world.Serving{CN: cn, DNS: slices.Clone(names), IPs: slices.Clone(ips)},
	}
}

// ofClient returns the request of a node for the certificate of its kube-proxy.
func ofClient(node string) world.CertificateRequest {
	r := ofKubelet(node)
	r.Signer, r.Usages, r.CN, r.Orgs, r.DNS, r.IPs, r.Serving = SignerClient, []string{"client auth", "digital signature"}, "system:kube-proxy", nil, nil, nil, nil
	return r
}

func TestCertificateRequests(t *testing.T) {
	for name, c := range map[string]struct {
		of     func(node string) world.CertificateRequest
		change func(r *world.CertificateRequest, w *world.World)
		want   string // part of the problem; "approved", or "ignored"
	}{
		"kubelet":                      {ofKubelet, nil, "approved"},
		"kubelet with fewer names":     {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.DNS, r.IPs = r.DNS[:1], nil }, "approved"},
		"client":                       {ofClient, nil, "approved"},
		"another name":                 {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.DNS = append(r.DNS, "m1") }, `not valid for "m1"`},
		"another address":              {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.IPs = []string{"10.96.0.1"} }, `not valid for "10.96.0.1"`},
		"no names":                     {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.DNS, r.IPs = nil, nil }, "no names"},
		"another node":                 {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.CN = "system:node:n2" }, "its subject is not that of the kubelet"},
		"more groups":                  {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Orgs = append(r.Orgs, "system:masters") }, "its subject is not that of the kubelet"},
		"usages of a client":           {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Usages = append(r.Usages, "client auth") }, "its usages"},
		"no usages":                    {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Usages = nil }, "its usages"},
		"e-mail addresses":             {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Fault = "it asks for e-mail addresses" }, "e-mail addresses"},
		"kubelet that serves no proof": {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Serving = nil }, "is not known"},
		"kubelet with an expired one":  {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Serving.Fault = "it has expired" }, "it has expired"},
		"kubelet of another node":      {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Serving.CN = "system:node:n2" }, `the kubelet serves a certificate of "system:node:n2"`},
		"node that has left":           {ofKubelet, func(_ *world.CertificateRequest, w *world.World) { w.Nodes = w.Nodes[:3] }, "no such node"},
		"master":                       {ofKubelet, func(_ *world.CertificateRequest, w *world.World) { w.Nodes[3].Master = true }, "masters renew"},
		"master's client":              {ofClient, func(_ *world.CertificateRequest, w *world.World) { w.Nodes[3].Master = true }, "masters renew"},
		"client with names":            {ofClient, func(r *world.CertificateRequest, _ *world.World) { r.DNS = []string{"n1"} }, "no names of hosts"},
		"client with usages of both":   {ofClient, func(r *world.CertificateRequest, _ *world.World) { r.Usages = append(r.Usages, "server auth") }, "its usages"},
		"client with all rights":       {ofClient, func(r *world.CertificateRequest, _ *world.World) { r.Orgs = []string{"system:masters"} }, "all rights"},
		"client in other groups":       {ofClient, func(r *world.CertificateRequest, _ *world.World) { r.Orgs = []string{"deployer:cluster-admins"} }, "and these groups"},
		"client that is a node": {ofClient, func(r *world.CertificateRequest, _ *world.World) {
			r.CN, r.Orgs = "system:node:n2", []string{"system:nodes"}
		}, "by another signer"},
		"node in the list of clients": {ofClient, func(r *world.CertificateRequest, w *world.World) {
			r.CN, w.Clients = "system:node:n2", []world.Client{{CN: "system:node:n2"}}
		}, "by another signer"},
		"masters in the list of clients": {ofClient, func(r *world.CertificateRequest, w *world.World) {
			r.Orgs, w.Clients = []string{"system:masters"}, []world.Client{{CN: "system:kube-proxy", Orgs: []string{"system:masters"}}}
		}, "all rights"},
		"a user that nodes have no certificate of": {ofClient, func(r *world.CertificateRequest, _ *world.World) { r.CN = "ann" }, "ignored"},
		"a person":             {ofClient, func(r *world.CertificateRequest, _ *world.World) { r.User = "ann" }, "ignored"},
		"a person of the name": {ofKubelet, func(r *world.CertificateRequest, _ *world.World) { r.Groups = []string{"system:authenticated"} }, "ignored"},
		"another signer":       {ofClient, func(r *world.CertificateRequest, _ *world.World) { r.Signer = "example.com/signer" }, "ignored"},
		"a kubelet that renews its own": {ofClient, func(r *world.CertificateRequest, _ *world.World) {
			r.Signer = "kubernetes.io/kube-apiserver-client-kubelet"
		}, "ignored"},
	} {
		r, w := c.of("n1"), fleet()
		w.Clients = clients
		if c.change != nil {
			c.change(&r, &w)
		}
		w.Requests = []world.CertificateRequest{r}
		d, problems := CertificateRequests(settings().Certificates, w), requestProblems(settings().Certificates, w)
		switch c.want {
		case "approved":
			if len(d.Actions) != 1 || d.Actions[0].Kind != Approve || d.Actions[0].Object.Name != "deployer-n1" || d.Actions[0].Node.Name != "n1" || len(problems) != 0 {
				t.Errorf("%s: %v, %v: want it approved", name, d.Actions, problems)
			}
		case "ignored":
			if len(d.Actions)+len(problems) != 0 {
				t.Errorf("%s: %v, %v: want nothing", name, d.Actions, problems)
			}
		default:
			if len(d.Actions) != 0 || len(problems) != 1 || problems[0].Reason != CertificateRequestRefused || !strings.Contains(problems[0].Message, c.want) {
				t.Errorf("%s: %v, %v: want %q", name, d.Actions, problems, c.want)
			}
		}
	}
}

// TestNewestRequest: of several requests for one certificate only the newest counts, and one node has one problem.
func TestNewestRequest(t *testing.T) {
	w := fleet()
	w.Clients = clients
	for i := range 3 {
		r := ofKubelet("n1")
		r.Name, r.UID, r.Created = fmt.Sprint("r", i), fmt.Sprint(i), now.Add(-time.Duration(i)*time.Hour)
		w.Requests = append(w.Requests, r)
	}
	w.Requests = append(w.Requests, ofClient("n1"))
	if d := CertificateRequests(settings().Certificates, w); len(d.Actions) != 2 || d.Actions[0].Object.Name != "deployer-n1" || d.Actions[1].Object.Name != "r0" {
		t.Errorf("%v, want the newest of the kubelet and the one of kube-proxy", d.Actions)
	}
	for i := range w.Requests {
		w.Requests[i].Usages = nil
	}
	if problems := requestProblems(settings().Certificates, w); len(problems) != 1 {
		t.Errorf("%v, want one", problems)
	}
	s := settings().Certificates
	s.Nodes = new(false)
	if d, problems := CertificateRequests(s, w), requestProblems(s, w); len(d.Actions)+len(problems) != 0 {
		t.Errorf("switched off: %v, %v", d.Actions, problems)
	}
}

// TestManyRequests: a thousand nodes that ask at the same time have their turns.
func TestManyRequests(t *testing.T) {
	w := world.World{Now: now}
	for i := range 1000 {
		name := fmt.Sprint("n", i)
		w.Nodes = append(w.Nodes, world.Node{Name: name, UID: name})
		w.Requests = append(w.Requests, ofKubelet(name))
	}
	if d := CertificateRequests(settings().Certificates, w); len(d.Actions) != maxApprovals {
		t.Errorf("%d approvals in one pass, want %d", len(d.Actions), maxApprovals)
	}
}

// TestApprovalInvariants: whatever nodes ask for, none gets a certificate of another node, of a master, of a group with
// all rights, or for names that its kubelet does not serve now.
func TestApprovalInvariants(t *testing.T) {
	approved := 0
	seeds(t, 20000, func(t *testing.T, r *rand.Rand) {
		w := fleet()
		w.Clients = clients
		for range 1 + r.IntN(4) {
			w.Requests = append(w.Requests, randomRequest(r))
		}
		for _, a := range CertificateRequests(settings().Certificates, w).Actions {
			approved++
			at := slices.IndexFunc(w.Requests, func(q world.CertificateRequest) bool { return q.Name == a.Object.Name })
			checkApproval(t, a.Node, w.Requests[at])
		}
	})
	if *onlySeed < 0 && approved < 500 {
		t.Errorf("%d requests were approved: the requests are too bad", approved)
	}
}

// randomRequest returns a good request of a node in which some parts are those of others.
func randomRequest(r *rand.Rand) world.CertificateRequest {
	hosts := []string{"m1", "n1", "n2", "n3", "gone"}
	q := []func(string) world.CertificateRequest{ofKubelet, ofClient}[r.IntN(2)](hosts[r.IntN(len(hosts))])
	q.Name = fmt.Sprint("r", r.Uint64())
	other := []func(string) world.CertificateRequest{ofKubelet, ofClient}[r.IntN(2)](hosts[r.IntN(len(hosts))])
	extra := []string{"m1", "n1", "n2", "kubernetes.default.svc", "10.96.0.1", "10.0.0.9", ""}
	for range r.IntN(3) {
		switch r.IntN(12) {
		case 0:
			q.User = other.User
		case 1:
			q.CN = other.CN
		case 2:
			q.Orgs = append(slices.Clone(q.Orgs), []string{"system:masters", "system:nodes", "deployer:cluster-admins"}[r.IntN(3)])
		case 3:
			q.DNS = append(slices.Clone(q.DNS), extra[r.IntN(len(extra))])
		case 4:
			q.IPs = append(slices.Clone(q.IPs), extra[r.IntN(len(extra))])
		case 5:
			q.Usages = append(slices.Clone(q.Usages), []string{"client auth", "server auth", "cert sign", "any"}[r.IntN(4)])
		case 6:
			q.Signer = other.Signer
		case 7:
			q.Groups = q.Groups[1:]
		case 8:
			q.Serving = other.Serving
		case 9:
			q.Fault = "it asks for URIs"
		case 10:
			q.Usages = other.Usages
		case 11:
			q.CN = []string{"system:node:", "system:kube-controller-manager", "kubernetes-admin", "deployer:keeper", "deployer:calico-node"}[r.IntN(5)]
		}
	}
	return q
}

// checkApproval fails for a request that must not be approved.
func checkApproval(t *testing.T, n world.Node, q world.CertificateRequest) {
	t.Helper()
	bad := func(what string) { t.Fatalf("approved for node %s: %s: %+v", n.Name, what, q) }
	switch {
	case n.Name[0] != 'n' || q.User != "system:node:"+n.Name || !slices.Contains(q.Groups, "system:nodes"):
		bad("another one asked")
	case slices.Contains(q.Orgs, "system:masters") || slices.Contains(q.Orgs, "deployer:cluster-admins"):
		bad("it has more rights")
	case q.Fault != "":
		bad(q.Fault)
	case q.Signer == SignerClient:
		if q.CN != "system:kube-proxy" && q.CN != "deployer:calico-node" || len(q.Orgs)+len(q.DNS)+len(q.IPs) > 0 || !sameSet(q.Usages, []string{"client auth", "digital signature"}) {
			bad("nodes have no such client")
		}
	case q.Signer == SignerServing:
		if q.CN != q.User || q.Serving == nil || q.Serving.CN != q.User || !sameSet(q.Usages, []string{"server auth", "digital signature"}) {
			bad("its kubelet has not proved it")
		}
		for _, name := range q.DNS {
			if name != n.Name && name != "localhost" {
				bad("it is valid for " + name)
			}
		}
		for _, ip := range q.IPs {
			if ip != "10.0.0.1" && ip != "127.0.0.1" {
				bad("it is valid for " + ip)
			}
		}
	default:
		bad("no such signer")
	}
}
