package keeper

import (
	"deployer/keeper/access"
	"deployer/keeper/config"
	"deployer/keeper/decide"
)

// ready prepares a pass with a configuration, and takes part in the election. bad is the error of the
// configuration. With one that cannot be used, ready leaves the election, so that another keeper acts,
// and returns the result of the pass; what such a file has of names and connections is enough to tell.
func (k *Keeper) ready(file *config.File, bad error) *outcome {
	if bad == nil {
		bad = k.connect(*file)
	} else if k.access == nil && file.API.Server != "" {
		if err := k.connect(*file); err != nil {
			k.options.Log.Error("the status cannot be written", "error", err)
		}
	}
	if bad == nil {
		k.host = file.Host
		k.join(*file)
		return nil
	}
	k.options.Log.Error("the configuration cannot be used, so the keeper does nothing", "error", bad)
	if file.Host == "" {
		file.Host = k.host
	}
	k.leave()
	return &outcome{idle: bad.Error(), failed: true, problems: []decide.Problem{{Reason: decide.BadConfiguration, Message: bad.Error()}}}
}

// connect opens the connections of a configuration, again when something of them has changed.
func (k *Keeper) connect(file config.File) error {
	if k.access != nil && k.access.Current(file) {
		return nil
	}
	made, err := access.New(file, k.metrics.Transport)
	if err != nil {
		return err
	}
	k.leave()
	if k.access != nil {
		k.access.Close()
	}
	k.access = made
	return nil
}

// join takes part in the election of the leader.
func (k *Keeper) join(file config.File) {
	if k.election == nil {
		k.election = elect(k.access.Leases, file.Host, k.options.Log)
	}
	if file.Keeper.DryRun {
		k.marks.use(nil)
		return
	}
	k.marks.use(&renewing{k.access.Kube, k.election})
}

// leave ends the part in the election, and what this keeper does as the leader.
func (k *Keeper) leave() {
	k.marks.use(nil)
	k.forgetNodes()
	k.election.stop()
	k.election = nil
}
