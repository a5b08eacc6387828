package cluster

// tlsCipherSuites are the suites of TLS 1.2 that servers of the cluster offer:
// ephemeral keys and authenticated encryption only, all of them in the lists of the
// CIS Kubernetes benchmark for API server and kubelet (1.2.29, 4.2.12). The last two
// have their former names, because the benchmark's list for kubelets has only these;
// Kubernetes takes both (component-base/cli/flag). TLS 1.3 has no choice of suites.
func tlsCipherSuites() []string {
	return []string{
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
		"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
	}
}
