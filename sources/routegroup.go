package sources

import (
	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"

	"github.com/clusterzone/clusterzone/zones"
)

func (tr *Translator) routeGroup(obj *routegroupv1.RouteGroup) zones.Object { return zones.Object{} }
