package calico

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/tasks/control/kube"
)

const (
	// routerPrefix is the prefix of the labels of nodes that have a session with a router, whose
	// name follows. The value is that of the version of the BGPPeer.
	routerPrefix = "router.deployer/"
	// routerObjects is the prefix of the names of BGPPeers and BGPFilters of routers.
	routerObjects = "deployer-router-"

	passwordNamespace = "kube-system"
	// passwordSecret has the passwords of sessions, which calico-node may read.
	passwordSecret = "calico-bgp-passwords"
	// passwordKeys is the prefix of the keys of deployer's passwords; those of the user's own
	// BGPPeers may have any other names.
	passwordKeys = "deployer."
)

// routers are the objects and labels of sessions with routers outside of the cluster. An object never
// changes: another address, number or password makes a new BGPPeer, and nodes move to it one by one,
// by their labels.
type routers struct {
	objects   []*unstructured.Unstructured // BGPFilters, and then BGPPeers
	passwords map[string]string            // by the key in the Secret
	labels    map[string]map[string]string // of each node
	absent    bool                         // Calico is not installed, or its datastore does not answer
}

// routersOf returns the objects of the routers of the inventory. passwords are those that the Secret has.
func routersOf(c *cluster.Cluster, passwords map[string]string) (routers, error) {
	out := routers{passwords: map[string]string{}, labels: map[string]map[string]string{}}
	for _, node := range c.NodeNames {
		out.labels[node] = map[string]string{}
	}
	var filters, peers []*unstructured.Unstructured
	for _, p := range c.Network.PeerSpecs {
		spec := map[string]any{"peerIP": p.Address, "asNumber": int64(p.ASN)}
		if p.TTLCheck {
			spec["ttlSecurity"] = int64(p.Hops)
		}
		if p.Password != "" {
			key := passwordKey(p, passwords)
			out.passwords[key] = p.Password
			spec["password"] = map[string]any{"secretKeyRef": map[string]any{"name": passwordSecret, "key": key}}
		}
		filter := importFilter(c, p)
		version, err := versionOf(spec, filter)
		if err != nil {
			return routers{}, err
		}
		name := routerObjects + p.Name + "-" + version
		spec["filters"], spec["nodeSelector"] = []any{name}, fmt.Sprintf("%s%s == '%s'", routerPrefix, p.Name, version)
		filters, peers = append(filters, object("BGPFilter", name, filter)), append(peers, object("BGPPeer", name, spec))
		for _, node := range c.NodeNames {
			if slices.ContainsFunc(c.Nodes[node].BGP.Routers, func(r cluster.Router) bool { return r.Name == p.Name }) {
				out.labels[node][routerPrefix+p.Name] = version
			}
		}
	}
	out.objects = append(filters, peers...)
	return out, nil
}

// passwordKey returns the key of a router's password in the Secret: a new one for a new password, so that
// sessions with the former one go on.
func passwordKey(p cluster.BGPPeerSpec, passwords map[string]string) string {
	last, prefix := 0, passwordKeys+p.Name+"."
	for key, password := range passwords {
		text, ours := strings.CutPrefix(key, prefix)
		n, err := strconv.Atoi(text)
		if !ours || err != nil {
			continue
		}
		if password == p.Password {
			return key
		}
		last = max(last, n)
	}
	return prefix + strconv.Itoa(last+1)
}

// importFilter returns the spec of the filter of a router's routes. Without a rule that fits, Calico
// accepts a route.
func importFilter(c *cluster.Cluster, p cluster.BGPPeerSpec) map[string]any {
	family, all := "importV4", "0.0.0.0/0"
	if address, err := netip.ParseAddr(p.Address); err == nil && address.Is6() {
		family, all = "importV6", "::/0"
	}
	rule := func(action, operator, cidr string) any {
		return map[string]any{"action": action, "matchOperator": operator, "cidr": cidr}
	}
	var rules []any
	for _, pool := range c.Network.Calico.Pools {
		if strings.Contains(pool.CIDR, ":") == strings.Contains(all, ":") {
			rules = append(rules, rule("Reject", "In", pool.CIDR))
		}
	}
	for _, cidr := range p.Accept {
		rules = append(rules, rule("Accept", "In", cidr))
	}
	if p.AcceptAll {
		rules = append(rules, rule("Accept", "Equal", all))
	}
	return map[string]any{family: append(rules, rule("Reject", "In", all))}
}

// versionOf returns a name for settings, of letters and digits.
func versionOf(settings ...any) (string, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("settings of a router: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4]), nil
}

// secretOf returns the part of the Secret with passwords that is deployer's.
func secretOf(passwords map[string]string) *unstructured.Unstructured {
	data := map[string]any{}
	for key, password := range passwords {
		data[key] = base64.StdEncoding.EncodeToString([]byte(password))
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": string(corev1.SecretTypeOpaque),
		"metadata": map[string]any{"name": passwordSecret, "namespace": passwordNamespace, "labels": map[string]any{managedLabel: kube.Manager}},
		"data":     data,
	}}
}

// ownPasswords returns the passwords of a Secret that are deployer's, by key.
func ownPasswords(secret *unstructured.Unstructured) (map[string]string, error) {
	out := map[string]string{}
	data, _, err := unstructured.NestedStringMap(secret.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("data of Secret %s: %w", passwordSecret, err)
	}
	for key, text := range data {
		if !strings.HasPrefix(key, passwordKeys) {
			continue
		}
		password, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("key %s of Secret %s is not base64", key, passwordSecret)
		}
		out[key] = string(password)
	}
	return out, nil
}
