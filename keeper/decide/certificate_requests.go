package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/keeper/world"
)

// The signers of Kubernetes that sign certificates of nodes
// (kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers).
const (
	SignerServing = "kubernetes.io/kubelet-serving"
	SignerClient  = "kubernetes.io/kube-apiserver-client"
)

const (
	userNode   = "system:node:" // before the name of a node
	groupNodes = "system:nodes"
	groupAll   = "system:masters" // may do everything
)

// maxApprovals is the number of requests that are approved in one pass; others wait for the next pass.
const maxApprovals = 50

// CertificateRequests returns the requests of nodes to approve: those for certificates that their hosts have
// already, with the same names. All others stay for a person.
func CertificateRequests(s cluster.KeeperCertificatesSpec, w world.World) (d Decision) {
	if !*s.Nodes {
		return d
	}
	for _, r := range newestRequests(w) {
		n, refused := approves(r, w)
		if refused != "" || len(d.Actions) == maxApprovals {
			continue
		}
		d.do(Action{Kind: Approve, Object: requestObject(r), Node: n, Why: fmt.Sprintf("node %s renews its certificate of %s", n.Name, quoted(r.CN))})
	}
	return d
}

// requestProblems returns the requests of nodes that are not approved, one for each node at most, so that none
// can hide what others have.
func requestProblems(s cluster.KeeperCertificatesSpec, w world.World) (out []Problem) {
	if !*s.Nodes {
		return nil
	}
	told := map[string]bool{}
	for _, r := range newestRequests(w) {
		if _, refused := approves(r, w); refused != "" && !told[r.User] {
			told[r.User] = true
			out = append(out, Problem{CertificateRequestRefused, fmt.Sprintf("request %s of %s for a certificate is not approved: %s; kubectl certificate approve it if it is right, or deny it", quoted(r.Name), quoted(r.User), refused)})
		}
	}
	return out
}

// newestRequests returns the requests that are about certificates of nodes: of each node and each certificate
// the newest. Requests that others make for other purposes are not the keeper's.
func newestRequests(w world.World) []world.CertificateRequest {
	newest := map[string]world.CertificateRequest{}
	for _, r := range w.Requests {
		key := strings.Join([]string{r.User, r.Signer, r.CN}, "\x00")
		if before, has := newest[key]; OfNode(r, w.Clients) && (!has || later(r, before)) {
			newest[key] = r
		}
	}
	out := make([]world.CertificateRequest, 0, len(newest))
	for _, r := range newest {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b world.CertificateRequest) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func later(a, b world.CertificateRequest) bool {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) > 0
}

// OfNode reports whether a node made a request, and for a certificate such as nodes have: one of a kubelet, or of a
// user whose certificate nodes have.
func OfNode(r world.CertificateRequest, clients []world.Client) bool {
	return FromNode(r.User, r.Groups) && (r.Signer == SignerServing || r.Signer == SignerClient &&
		(strings.HasPrefix(r.CN, userNode) || slices.Contains(r.Orgs, groupAll) || slices.ContainsFunc(clients, func(c world.Client) bool { return c.CN == r.CN })))
}

// FromNode reports whether a user of the API is a node.
func FromNode(user string, groups []string) bool {
	return strings.HasPrefix(user, userNode) && slices.Contains(groups, groupNodes)
}

// approves returns the node whose request may be approved, or the reason why it may not.
func approves(r world.CertificateRequest, w world.World) (n world.Node, refused string) {
	name := strings.TrimPrefix(r.User, userNode)
	at := slices.IndexFunc(w.Nodes, func(n world.Node) bool { return n.Name == name })
	switch {
	case at < 0:
		return n, "the cluster has no such node"
	case w.Nodes[at].Master:
		return n, "masters renew their certificates themselves"
	case r.Fault != "":
		return n, r.Fault
	case r.Signer == SignerServing:
		return w.Nodes[at], refusedServing(r)
	case r.Signer == SignerClient:
		return w.Nodes[at], refusedClient(r, w.Clients)
	}
	return n, "no rule is about its signer"
}

// refusedServing returns the reason why a kubelet does not get the certificate to serve; empty when it does. Names
// and addresses must be those of the certificate that it serves now.
func refusedServing(r world.CertificateRequest) string {
	s := r.Serving
	switch {
	case !sameSet(r.Usages, []string{"digital signature", "server auth"}):
		return "its usages are not those of a kubelet that serves"
	case r.CN != r.User || !sameSet(r.Orgs, []string{groupNodes}):
		return fmt.Sprintf("its subject is not that of the kubelet, but %s", quoted(r.CN))
	case len(r.DNS)+len(r.IPs) == 0:
		return "it has no names"
	case s == nil:
		return "the certificate that the kubelet serves is not known"
	case s.Fault != "":
		return s.Fault
	case s.CN != r.CN:
		return fmt.Sprintf("the kubelet serves a certificate of %s", quoted(s.CN))
	}
	for _, list := range [][2][]string{{r.DNS, s.DNS}, {r.IPs, s.IPs}} {
		for _, name := range list[0] {
			if !slices.Contains(list[1], name) {
				return fmt.Sprintf("the certificate that the kubelet serves is not valid for %s", quoted(name))
			}
		}
	}
	return ""
}

// refusedClient returns the reason why a node does not get the certificate of a user; empty when it does.
func refusedClient(r world.CertificateRequest, clients []world.Client) string {
	switch {
	case !sameSet(r.Usages, []string{"digital signature", "client auth"}):
		return "its usages are not those of a client"
	case strings.HasPrefix(r.CN, userNode):
		return fmt.Sprintf("a kubelet renews its own certificate of %s by another signer", quoted(r.CN))
	case slices.Contains(r.Orgs, groupAll):
		return "it asks for all rights"
	case len(r.DNS)+len(r.IPs) > 0:
		return "a client's certificate has no names of hosts"
	case !slices.ContainsFunc(clients, func(c world.Client) bool { return c.CN == r.CN && sameSet(c.Orgs, r.Orgs) }):
		return fmt.Sprintf("no certificate of nodes has user %s and these groups", quoted(r.CN))
	}
	return ""
}

// sameSet compares lists without regard to order.
func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// maxQuoted is the number of characters of a text of somebody else in a message.
const maxQuoted = 100

// quoted quotes a text of somebody else, which may have any characters.
func quoted(text string) string { return fmt.Sprintf("%.*q", maxQuoted, text) }

func requestObject(r world.CertificateRequest) Object {
	return Object{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest", Name: r.Name, UID: r.UID}
}
