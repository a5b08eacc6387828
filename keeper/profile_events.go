package keeper

import (
	"cmp"
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/keeper/maintenance"
	"deployer/keeper/maintenance/replace"
)

// The actions of maintenance profiles and of the replacement of nodes, in reports.
const (
	changeState   = "ChangeMaintenanceState"
	runTrigger    = "RunMaintenanceTrigger"
	notify        = "NotifyOfMaintenance"
	maintain      = "MaintainNode" // failures that are of no trigger and no notification
	replaceNode   = "ReplaceNode"
	labelOutdated = "LabelOutdatedNode"
)

// nodeEvent is an event of a node with a profile or a replacement.
type nodeEvent struct {
	node     *corev1.Node
	profile  string // empty for the node as a whole
	instance string // trigger or notification; may be empty
	line     string // for the journal
	// once is true for what happens once; other events are repeated at each pass while they hold.
	once bool
	// last is true when the events before it are history: those that come again are new.
	last  bool
	entry actionlog.Entry
}

// ofProfile returns an event of a maintenance profile.
func ofProfile(e maintenance.Event) nodeEvent {
	why := []string{}
	if e.Profile != "" {
		why = append(why, "profile "+e.Profile)
	}
	out := nodeEvent{node: e.Node, profile: e.Profile, instance: e.Instance, line: e.String()}
	action, result := maintain, actionlog.ResultDone
	switch e.Kind {
	case maintenance.Transition:
		out.once, out.last, action = true, true, changeState
		why = append(why, string(e.From)+" -> "+string(e.To))
	case maintenance.Notified:
		out.once, action = true, notify
		why = append(why, "notification "+e.Instance)
	case maintenance.Triggered:
		action = runTrigger
		why = append(why, "trigger "+e.Instance)
	case maintenance.InProgress:
		action, result = runTrigger, actionlog.ResultInProgress
		why = append(why, "trigger "+e.Instance)
	case maintenance.Failed:
		result = e.Err.Error()
	case maintenance.Ignored:
		result = e.Text
	}
	if e.Text != "" && result != e.Text {
		why = append(why, e.Text)
	}
	out.entry = actionlog.Entry{Action: action, Why: strings.Join(why, ": "), Result: result}
	return out
}

// ofReplacement returns an event of the replacement of a node.
func ofReplacement(e replace.Event) nodeEvent {
	out := nodeEvent{node: e.Node, line: e.String(), once: true}
	action, result := replaceNode, actionlog.ResultDone
	switch e.Kind {
	case replace.Outdated:
		action = labelOutdated
	case replace.Begun:
		result = actionlog.ResultInProgress
	case replace.InProgress:
		out.once, result = false, actionlog.ResultInProgress
	case replace.Failed:
		out.once, result = false, e.Err.Error()
	case replace.Replaced, replace.Cancelled:
		out.last = true
	}
	out.entry = actionlog.Entry{Action: action, Why: e.Text, Result: result}
	return out
}

// recordOfNode reports an event of a node, unless an earlier pass has reported it.
func (k *Keeper) recordOfNode(ctx context.Context, host string, e nodeEvent) {
	now := time.Now()
	log, report := true, true
	of := e.node.Name + "/" + e.profile + "/"
	if e.last {
		k.profiles.notices.forget(of)
	}
	if !e.once {
		log, report = k.profiles.notices.see(of+e.entry.Action+"/"+e.instance, e.line, now)
	}
	if !report {
		if log {
			k.options.Log.Info(e.line)
		}
		return
	}
	object := decide.NodeNamed(e.node.Name)
	object.UID = string(e.node.UID)
	e.entry.Time, e.entry.Object = now.UTC(), object.String()
	e.entry.Why = cmp.Or(e.entry.Why, "replacement")
	k.record(ctx, k.access.Kube, host, []decide.Object{object}, e.entry)
}
