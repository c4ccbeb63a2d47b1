import { toast } from "./util.js";
export function picture() { toast("not yet"); }
