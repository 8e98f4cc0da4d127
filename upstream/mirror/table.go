package mirror

import "github.com/clusterzone/clusterzone/zones"

// FromTable returns what a Table's objects ask for, at the given names or (nil) at
// all, with Unready and Unsure left empty: they are the caller's to know. The Table
// must not change meanwhile.
func FromTable(table *zones.Table, names []zones.Name) Wanted {
	if names == nil {
		return Wanted{Endpoints: table.Endpoints(), Awaited: table.Awaited()}
	}
	var wanted Wanted
	for _, name := range names {
		list, awaited := table.EndpointsAt(name)
		wanted.Endpoints = append(wanted.Endpoints, list...)
		if awaited {
			wanted.Awaited = append(wanted.Awaited, name)
		}
	}
	return wanted
}
