/** The process in which the bodies run: a service endpoint of Restate. Prints its port. */
import { serve } from "@restatedev/restate-sdk";
import { restateService } from "stepmark/restate";
import { functions } from "./flow.js";

const port = await serve({ services: [await restateService({ functions })], port: 0 });
console.log(port);
