// Package profile has the rules of maintenance profiles: what a node in a profile does next.
//
// A profile is a state machine with the states operational, maintenance-required and in-maintenance. A node
// names its profiles in the label cloud.sap/maintenance-profile, as in flatcar--kubelet, and carries their states
// in the annotation cloud.sap/maintenance-data. [Load] reads the file of profiles and checks all of it.
// [Decide] takes a node, its stored states and a [World], and returns the notifications, transitions and triggers
// that are due. Neither of them changes anything; package maintenance carries decisions out.
//
// File, labels, annotation and their meaning are those of SAP's maintenance-controller
// (https://github.com/sapcc/maintenance-controller, docs/concepts.md and docs/plugins.md), so that a cluster can
// move over with its files and with nodes in any state. docs/guides/maintenance-profiles.md lists the differences.
package profile
