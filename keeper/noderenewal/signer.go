package noderenewal

import (
	"slices"

	"deployer/tasks/certificate"
)

// The signers of Kubernetes
// (kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers).
const (
	signerServing = "kubernetes.io/kubelet-serving"
	signerClient  = "kubernetes.io/kube-apiserver-client"
	signerKubelet = "kubernetes.io/kube-apiserver-client-kubelet" // Kubernetes approves what a kubelet asks for itself
)

const (
	authorityCluster = "cluster" // cluster.AuthorityCluster
	kubeletServing   = "kubelet-serving"
	kubeletClient    = "kubelet-client"
)

// signerOf returns the signer of a certificate, and the key usage that it wants beside digital signature. No
// signer of Kubernetes signs by another authority than the cluster's, or for a server that is no kubelet.
func signerOf(w certificate.Want) (signer, usage string, ok bool) {
	switch {
	case w.Authority != authorityCluster:
	case w.Name == kubeletServing:
		return signerServing, "server auth", true
	case w.Name == kubeletClient:
		return signerKubelet, "client auth", true
	case slices.Equal(w.Usages, []string{"client"}):
		return signerClient, "client auth", true
	}
	return "", "", false
}

// renewable reports whether a new certificate is what a state asks for. Other names and another authority are
// changes, which runs make.
func renewable(state string) bool {
	return slices.Contains([]string{"expiring", "expired", "missing", "damaged"}, state)
}
