package zones

// EndpointsAt returns the settled claims of one name, as Endpoints lists them,
// and whether an object that has the name waits for its targets: the mirror then
// leaves alone what it has there. The slice is the caller's.
func (t *Table) EndpointsAt(name Name) (list []Endpoint, awaited bool) {
	e := t.names[name]
	if e == nil {
		return nil, false
	}
	return t.endpoints(name, e)
}

// Awaited returns the names at which an object waits for its targets, whether or
// not others have records there, in no order. The slice is the caller's.
func (t *Table) Awaited() []Name {
	var names []Name
	for name, e := range t.names {
		if _, awaited := t.endpoints(name, e); awaited {
			names = append(names, name)
		}
	}
	return names
}
