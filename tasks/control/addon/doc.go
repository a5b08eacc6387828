// Package addon has the actions for add-ons: `addon` applies one, `addons_removed` removes those
// that the inventory no longer has. Package addons has rendered them before.
//
// The cluster has a record of each add-on, a Secret in kube-system: the objects that were applied, the
// digest of everything and whether the last run has completed. Objects of any kind can so be removed
// when the add-on no longer contains them, and a run that was killed is completed by the next one.
package addon
