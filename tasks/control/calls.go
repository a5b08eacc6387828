package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"deployer/cluster"
	"deployer/tasks/control/keyring"
)

// Call answers a call of a module on a host.
type Call = func(ctx context.Context, host string, in json.RawMessage) (any, error)

// signRequest is the request of a host for "certificate.sign".
type signRequest struct {
	Name string `json:"name"`
	CSR  string `json:"csr"` // PEM
}

// signReply is the reply to a signRequest.
type signReply struct {
	Cert string `json:"cert"` // PEM
}

// filesReply is the answer to "authority.files".
type filesReply struct {
	Files []keyring.File `json:"files"`
}

// passwordReply is the answer to "bgp.password".
type passwordReply struct {
	Password string `json:"password"`
}

// Calls returns the handlers for the calls of host modules:
//
//   - "certificate.sign": {name, csr} -> {cert}; signed with the names and
//     usages of the cluster's table for that host and name, whatever the request contains. Certificates of external
//     authorities are taken from the directory of requests.
//   - "authority.files": nothing -> {files: [{path, mode, content, secret}]};
//     only what the host needs for its roles.
//   - "bgp.password": nothing -> {password}; for nodes only, empty when the
//     cluster's sessions have none.
//
// host is the name under which the engine knows the session that asks; a host
// cannot choose it.
func Calls(ring *keyring.Keyring, c *cluster.Cluster) map[string]Call {
	wanted, share := wantedBy(c), shareOf(c)
	return map[string]Call{
		"certificate.sign": func(_ context.Context, host string, in json.RawMessage) (any, error) {
			var req signRequest
			if err := json.Unmarshal(in, &req); err != nil {
				return nil, fmt.Errorf("reading what host %s sent to be signed: %w", host, err)
			}
			keys, err := ring.Keys()
			if err != nil {
				return nil, err
			}
			if cert, external, err := issued(c, host, req.Name, []byte(req.CSR), time.Now()); external || err != nil {
				return signReply{Cert: string(cert)}, err
			}
			cert, err := keys.SignRequest(wanted, host, req.Name, []byte(req.CSR), time.Now())
			if err != nil {
				return nil, err
			}
			return signReply{Cert: string(cert)}, nil
		},
		"authority.files": func(_ context.Context, host string, _ json.RawMessage) (any, error) {
			keys, err := ring.Keys()
			if err != nil {
				return nil, err
			}
			return filesReply{Files: keys.Share(share(host))}, nil
		},
		"bgp.password": func(_ context.Context, host string, _ json.RawMessage) (any, error) {
			if !c.Nodes[host].IsNode {
				return nil, fmt.Errorf("host %s has no BGP sessions", host)
			}
			keys, err := ring.Keys()
			if err != nil || c.Network.Authentication == cluster.AuthenticationNone {
				return passwordReply{}, err
			}
			return passwordReply{Password: keys.BGPPassword()}, nil
		},
	}
}
