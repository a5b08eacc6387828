package keyring

import (
	"net"
	"slices"

	"deployer/cluster"
)

// SpecOf returns what to sign for a row of the cluster's table of certificates.
func SpecOf(cert cluster.Certificate) Certificate {
	spec := Certificate{
		Name:          cert.Name,
		Authority:     cert.Authority,
		CommonName:    cert.CN,
		Organizations: cert.Orgs,
		DNSNames:      cert.DNS,
		Server:        slices.Contains(cert.Usages, "server"),
		Client:        slices.Contains(cert.Usages, "client"),
	}
	for _, text := range cert.IPs {
		if ip := net.ParseIP(text); ip != nil {
			spec.IPs = append(spec.IPs, ip)
		}
	}
	return spec
}
