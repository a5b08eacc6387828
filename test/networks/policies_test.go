//go:build lab

package networks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// policyCase is a NetworkPolicy of the pods of startPods, and the connections that it permits and denies.
type policyCase struct {
	name, spec string // spec without podSelector
	probes     []policyProbe
}

// policyProbe is a connection that a pod of n1 tries.
type policyProbe struct {
	from string // prefix of commands in the pod: see inPodAt
	try  string // command
	open bool   // the connection is possible
}

// Ports at which pods serve DNS by TCP and UDP: those of startPods, and the one of startStranger.
const (
	talkersPort  = 5353
	strangerPort = 5453
)

// own is a probe from the pod of n1 in the policy's namespace.
func own(try string, open bool) policyProbe { return policyProbe{inPodAt(talkersPort), try, open} }

// other is a probe from the pod of n1 in another namespace.
func other(try string, open bool) policyProbe { return policyProbe{inPodAt(strangerPort), try, open} }

// inPodAt is a prefix that runs a command in the network of the pod of a node that serves DNS at a port.
func inPodAt(port int) string {
	return fmt.Sprintf(`pid=$(for p in $(pidof coredns); do tr '\0' ' ' </proc/$p/cmdline | grep -q -- -dns.port=%d && echo $p; done | head -n 1); nsenter -t $pid -n `, port)
}

// tcp is a command that connects to a port within a second.
func tcp(address string, port int) string {
	return fmt.Sprintf("timeout 1 bash -c '</dev/tcp/%s/%d'", address, port)
}

// dnsQuery is a question for the addresses of example.org (RFC 1035, 4.1), for printf.
const dnsQuery = `\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03org\x00\x00\x01\x00\x01`

// udp is a command that gets an answer of a DNS server by UDP within a second.
func udp(address string, port int) string {
	return fmt.Sprintf(`timeout 1 bash -c 'exec 3<>/dev/udp/%s/%d; printf "%s" >&3; [ "$(head -c 2 <&3 | wc -c)" = 2 ]'`, address, port, dnsQuery)
}

// policies checks that NetworkPolicies are enforced: default deny, by label and port, by range with an
// exception, for both directions and protocols.
func policies(s *harness.Site, pods map[string]string) {
	s.T.Helper()
	to := tcp(pods["n2"], talkersPort)
	tryPolicies(s, []policyCase{
		{"deny all", "policyTypes: [Ingress]", []policyProbe{own(to, false)}},
		{"allow by label and port", "policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: talkers}}}], ports: [{port: 5353, protocol: TCP}]}]", []policyProbe{own(to, true)}},
		{"allow another port", "policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}], ports: [{port: 5354, protocol: TCP}]}]", []policyProbe{own(to, false)}},
		{"allow the range", "policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.244.0.0/16}}]}]", []policyProbe{own(to, true)}},
		{"allow the range except the pod", "policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [" + pods["n1"] + "/32]}}]}]", []policyProbe{own(to, false)}},
		{"allow UDP in a range of ports", "policyTypes: [Ingress], ingress: [{ports: [{port: 5300, endPort: 5400, protocol: UDP}]}]", []policyProbe{own(udp(pods["n2"], talkersPort), true), own(to, false)}},
		{"allow another label", "policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: others}}}]}]", []policyProbe{own(udp(pods["n2"], talkersPort), false)}},
		{"allow all to the range except the pod", "policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.244.0.0/16, except: [" + pods["n2"] + "/32]}}]}]", []policyProbe{own(tcp(pods["m1"], talkersPort), true), own(to, false)}},
	})
}

// tryPolicies applies one policy after the other, and removes the last one.
func tryPolicies(s *harness.Site, cases []policyCase) {
	s.T.Helper()
	for _, c := range cases {
		s.Shell("m1", `kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: talkers, namespace: default}
spec: {podSelector: {matchLabels: {app: talkers}}, `+c.spec+`}
EOF`)
		for _, p := range c.probes {
			s.Eventually(20*time.Second, "policy: "+c.name, func() error {
				_, err := s.SSH(s.T.Context(), "n1", p.from+p.try)
				if open := err == nil; open != p.open {
					return fmt.Errorf("%s: possible: %v, want %v", p.try, open, p.open)
				}
				return nil
			})
		}
	}
	s.Kubectl("m1", "delete networkpolicy talkers")
}

// startStranger starts a pod in namespace others on n1, and returns its address.
func startStranger(s *harness.Site) string {
	s.T.Helper()
	image := s.Kubectl("m1", "-n kube-system get deployment coredns -o 'jsonpath={.spec.template.spec.containers[0].image}'")
	s.Shell("m1", fmt.Sprintf(`kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'
apiVersion: v1
kind: Namespace
metadata: {name: others, labels: {team: others}}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger, namespace: others, labels: {app: strangers}}
spec:
  nodeName: n1
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  containers:
    - {name: dns, image: "%s", imagePullPolicy: IfNotPresent, args: [-dns.port=%d]}
EOF`, image, strangerPort))
	s.Kubectl("m1", "-n others wait --for=condition=Ready pod/stranger --timeout=60s")
	return strings.TrimSpace(s.Kubectl("m1", "-n others get pod stranger -o 'jsonpath={.status.podIP}'"))
}

// TestNetworkPolicies checks the fields of NetworkPolicies on a cluster with Calico: selectors of namespaces
// and pods, alone, in one peer and in two; ranges with exceptions, protocols and ranges of ports; both
// directions, with cluster DNS as the exception of a default deny.
func TestNetworkPolicies(t *testing.T) {
	scenario(t)
	s := harness.New(t, "policies", plan.Spec{Masters: 1, Minions: 2})
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network")["plugin"] = "calico" })
	s.Must("install")
	pods, stranger := startPods(s), startStranger(s)
	policies(s, pods)

	n2 := tcp(pods["n2"], talkersPort)
	udpN2, toStranger := udp(pods["n2"], talkersPort), tcp(stranger, strangerPort)
	clusterDNS := udp("10.96.0.10", 53)
	in := func(rules string) string { return "policyTypes: [Ingress], ingress: [" + rules + "]" }
	out := func(rules string) string { return "policyTypes: [Egress], egress: [" + rules + "]" }
	const (
		others = "namespaceSelector: {matchLabels: {team: others}}"
		dns    = "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}, podSelector: {matchLabels: {k8s-app: kube-dns}}"
	)
	// Each case changes the answer of a probe of the case before, so that none passes before its policy
	// is enforced.
	tryPolicies(s, []policyCase{
		{"to all, without rules", in("{}"), []policyProbe{own(n2, true), other(n2, true)}},
		{"deny all", in(""), []policyProbe{own(n2, false), other(n2, false)}},
		{"from pods of the namespace", in("{from: [{podSelector: {}}]}"), []policyProbe{own(n2, true), other(n2, false)}},
		{"from a namespace by its label", in("{from: [{" + others + "}]}"), []policyProbe{other(n2, true), own(n2, false)}},
		{"from other pods of that namespace", in("{from: [{" + others + ", podSelector: {matchLabels: {app: talkers}}}]}"), []policyProbe{other(n2, false), own(n2, false)}},
		{"from these pods of that namespace", in("{from: [{" + others + ", podSelector: {matchLabels: {app: strangers}}}]}"), []policyProbe{other(n2, true), own(n2, false)}},
		{"from that namespace, or pods of the own one", in("{from: [{" + others + "}, {podSelector: {matchLabels: {app: talkers}}}]}"), []policyProbe{own(n2, true), other(n2, true)}},
		{"from pods of all namespaces by their label", in("{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: strangers}}}]}"), []policyProbe{own(n2, false), other(n2, true)}},
		{"from the range except the pod of another namespace", in("{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [" + stranger + "/32]}}]}"), []policyProbe{own(n2, true), other(n2, false)}},
		{"UDP", in("{ports: [{port: 5353, protocol: UDP}]}"), []policyProbe{own(n2, false), own(udpN2, true), other(udpN2, true)}},
		{"TCP", in("{ports: [{port: 5353}]}"), []policyProbe{own(udpN2, false), own(n2, true)}},
		{"a range of ports above", in("{ports: [{port: 5354, endPort: 5400}]}"), []policyProbe{own(n2, false)}},
		{"a range of ports", in("{ports: [{port: 5300, endPort: 5353}]}"), []policyProbe{own(n2, true), own(udpN2, false)}},

		{"deny all connections to others", out(""), []policyProbe{own(n2, false), own(clusterDNS, false), own(toStranger, false), other(n2, true)}},
		{"cluster DNS only", out("{to: [{" + dns + "}], ports: [{port: 53, protocol: UDP}, {port: 53}]}"), []policyProbe{own(clusterDNS, true), own(n2, false)}},
		{"to the range", out("{to: [{ipBlock: {cidr: 10.244.0.0/16}}]}"), []policyProbe{own(n2, true), own(toStranger, true)}},
		{"to the range except the pod", out("{to: [{ipBlock: {cidr: 10.244.0.0/16, except: [" + pods["n2"] + "/32]}}]}"), []policyProbe{own(n2, false), own(tcp(pods["m1"], talkersPort), true)}},
		{"to pods of the namespace, UDP", out("{to: [{podSelector: {}}], ports: [{port: 5353, protocol: UDP}]}"), []policyProbe{own(udpN2, true), own(n2, false), own(toStranger, false)}},
		{"to a namespace by its label", out("{to: [{" + others + "}]}"), []policyProbe{own(toStranger, true), own(udpN2, false)}},
		{"deny all in both directions", "policyTypes: [Ingress, Egress]", []policyProbe{own(toStranger, false), other(n2, false)}},
	})
	// Without a policy all of it is open again.
	for _, p := range []policyProbe{own(n2, true), other(n2, true), own(udpN2, true), own(toStranger, true), own(clusterDNS, true)} {
		s.Eventually(20*time.Second, "without a policy", func() error {
			_, err := s.SSH(t.Context(), "n1", p.from+p.try)
			return err
		})
	}
	requireNetwork(s, "3 nodes, no problems")
}
