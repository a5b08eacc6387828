//go:build lab

package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"deployer/test/prober"
)

// probing is the namespace of the prober's objects, and the name of its user.
const probing = "probing"

// ProberTarget creates what the prober needs in the cluster, and returns the cluster as
// the clients on some minions see it. The prober's certificate may write ConfigMaps of one
// namespace and list nodes. It may be called again, for other clients.
func (s *Site) ProberTarget(minions ...string) prober.Target {
	s.T.Helper()
	s.Shell("m1", "cat > /tmp/probing.yaml <<'EOF'\n"+probingObjects(s.ProbeImage("m1"), minions)+"EOF")
	s.Kubectl("m1", "apply -f /tmp/probing.yaml")
	s.Kubectl("m1", "-n "+probing+" rollout status deployment/probing --timeout=90s")
	s.FollowAuthorities()
	clusterIP := func(namespace, service string) string {
		return s.Kubectl("m1", "-n "+namespace+" get service "+service+" -o 'jsonpath={.spec.clusterIP}'")
	}
	t := prober.Target{
		API: "https://127.0.0.1:6443", APITLS: s.api.config(), EtcdTLS: s.etcd.config(), Namespace: probing,
		DNS: clusterIP("kube-system", "kube-dns") + ":53", Name: "kubernetes.default.svc.cluster.local.",
		Service:  "http://" + clusterIP(probing, "probing") + "/ok",
		EtcdDial: s.Dial,
	}
	for _, m := range minions {
		t.Clients = append(t.Clients, prober.Client{Name: m, Dial: s.dialFrom(m)})
	}
	for _, h := range s.Hosts {
		if h.Role == "master" || h.Role == "etcd" {
			t.Etcd = append(t.Etcd, "https://"+net.JoinHostPort(h.Address.String(), "2379"))
		}
	}
	return t
}

// WhileProbing calls do while the prober runs, and checks that clients noticed no
// more than the tolerance allows.
func (s *Site) WhileProbing(target prober.Target, tolerate prober.Tolerance, do func()) {
	s.T.Helper()
	p := prober.Start(target)
	defer func() {
		r := p.Stop()
		s.T.Logf("what clients noticed:\n%s", r)
		if problems := r.Problems(tolerate); len(problems) > 0 {
			s.T.Errorf("clients noticed:\n%s", strings.Join(problems, "\n"))
		}
	}()
	do()
}

// dialFrom returns a function that opens connections from a host.
func (s *Site) dialFrom(host string) prober.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := s.DialFrom(ctx, host, network, address)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", host, prober.ErrClientDown)
		}
		return conn, err
	}
}

// proberCertificate has the cluster sign a client certificate for the prober's user.
func (s *Site) proberCertificate() tls.Certificate {
	s.T.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.T.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: probing}}, key)
	if err != nil {
		s.T.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	s.Kubectl("m1", "delete csr "+probing+" --ignore-not-found")
	s.Shell("m1", fmt.Sprintf(`kubectl --kubeconfig /etc/kubernetes/admin.conf create -f - <<'EOF'
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: %s}
spec: {request: %s, signerName: kubernetes.io/kube-apiserver-client, expirationSeconds: 86400, usages: [client auth]}
EOF`, probing, text))
	s.Kubectl("m1", "certificate approve "+probing)
	s.Kubectl("m1", "wait csr/"+probing+" --for=jsonpath='{.status.certificate}' --timeout=30s")
	signed, err := base64.StdEncoding.DecodeString(s.Kubectl("m1", "get csr "+probing+" -o 'jsonpath={.status.certificate}'"))
	if err != nil {
		s.T.Fatal(err)
	}
	block, _ := pem.Decode(signed)
	if block == nil {
		s.T.Fatalf("the cluster signed no certificate: %q", signed)
	}
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// probingObjects returns the objects of the prober: a Service of pods on several
// nodes, which end as well-behaved servers do: some seconds after they are no longer
// asked; a ConfigMap for each client; and the rights of the prober.
func probingObjects(image string, clients []string) string {
	var b strings.Builder
	for _, c := range clients {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", prober.ConfigMap(c), probing)
	}
	return strings.NewReplacer("IMAGE", image, "NS", probing, "CONFIGMAPS", b.String()).Replace(`apiVersion: v1
kind: Namespace
metadata: {name: NS, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: NS, namespace: NS}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NS, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NS}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: NS}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS}
rules: [{apiGroups: [""], resources: [nodes], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NS}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: NS}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: NS, namespace: NS}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: NS}}}
---
apiVersion: v1
kind: Service
metadata: {name: NS, namespace: NS}
spec: {selector: {app: NS}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NS, namespace: NS}
spec:
  replicas: 3
  selector: {matchLabels: {app: NS}}
  template:
    metadata: {labels: {app: NS}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 10
      securityContext: {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: NS}}}
      containers:
        - name: server
          image: IMAGE
          imagePullPolicy: Never
          args: [probe, serve, --listen, ":8080"]
          readinessProbe: {httpGet: {path: /ok, port: 8080}, periodSeconds: 1}
          lifecycle: {preStop: {sleep: {seconds: 4}}}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
CONFIGMAPS`)
}
