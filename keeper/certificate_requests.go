package keeper

import (
	"context"
	"slices"
	"time"

	"deployer/keeper/apiaccess"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/world"
)

// requestsEvery is the maximum time between two looks at the requests of nodes for certificates, which wait for ten
// minutes. A keeper that makes passes often looks sooner.
const requestsEvery = time.Minute

// readRequests adds the requests of nodes for certificates to the world.
func (k *Keeper) readRequests(ctx context.Context, file config.File, w *world.World) error {
	if !*file.Keeper.Certificates.Nodes {
		return nil
	}
	for _, c := range file.Clients {
		w.Clients = append(w.Clients, world.Client{CN: c.CN, Orgs: c.Orgs})
	}
	k.own.requests.refresh(min(requestsEvery, 4*file.Keeper.Interval), func() ([]world.CertificateRequest, error) {
		all, err := observe.CertificateRequests(ctx, k.access.Kube.WithRetryTimeout(-1), func(r world.CertificateRequest) bool { return decide.OfNode(r, w.Clients) })
		if len(all) > 0 {
			roots, err := apiaccess.Authorities(file.API.CA)
			if err != nil {
				return nil, err
			}
			observe.ReadServing(ctx, k.options.Dial, roots, w.Nodes, all)
		}
		return all, err
	})
	w.Requests = k.own.requests.value
	return k.own.requests.err
}

// forgetRequest leaves out a request that was approved, until the requests are read again.
func (k *Keeper) forgetRequest(uid string) {
	k.own.requests.value = slices.DeleteFunc(k.own.requests.value, func(r world.CertificateRequest) bool { return r.UID == uid })
}
